"""The limit of a meter is the same in Spark as in Python, whatever its name and its group's patterns."""

from pyspark.sql import SparkSession

from strom.pipeline.alerts.runs import run_limits
from strom.pipeline.limits import Limits
from strom.settings import GroupSettings, RuleSettings, Settings

NAMES = [
    "haus-1",
    "haus-12",
    "Haus-1",
    "a.b",
    "axb",
    "it's",
    'say "x"',
    "back\\slash",
    "two\nlines",
    "ü-1",
    "",
    "[1]",
]
PATTERNS = [["haus-?"], ["haus-*", "*.?"], ["it's", 'say "*"'], ["back\\*"], ["two*"], ["ü-*"], ["[?]"]]


def test_every_meter_has_the_limit_of_its_first_group_in_spark_too(spark: SparkSession) -> None:
    groups = {
        str(number): GroupSettings(meters=own, limit_w=number) for number, own in enumerate(PATTERNS, 1)
    }
    limits = Limits(Settings(groups=groups))
    frame = limits.beside(spark.createDataFrame([(name,) for name in NAMES], "meter string"))
    found = {
        row["meter"]: row["limit"]
        for row in frame.selectExpr("meter", f"{limits.limit_sql} AS limit").collect()
    }
    assert found == {name: limits.energy(name).limit_w for name in NAMES}
    assert set(found.values()) == {*range(1, len(PATTERNS) + 1), RuleSettings().limit_w}


def test_without_groups_that_differ_in_it_the_limit_is_a_constant(spark: SparkSession) -> None:
    limits = Limits(Settings(groups={"a": GroupSettings(meters=["*"], noise_wh=1)}))
    frame = spark.createDataFrame([], "meter string")
    assert limits.beside(frame) is frame
    assert limits.limit_sql == "43470"
    assert limits.energy("x").noise_mwh == 1000


def test_a_phase_beside_a_lost_one_is_good_as_long_as_its_voltage_is_not_severe() -> None:
    limits = run_limits(RuleSettings(voltage_severe_low_v=190, voltage_severe_high_v=260.5))
    assert (limits.good_low_mv, limits.good_high_mv) == (190_000, 260_500)
