"""`strom pipeline explain`: no step hands rows to Python, and one that did would be named."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline.explain import step_of, steps
from strom.pipeline.limits import Limits
from strom.settings import GroupSettings, Settings


def test_every_step_stays_in_native_code(spark: SparkSession) -> None:
    groups = {"small": GroupSettings(meters=["haus-*"], limit_w=11_000)}
    found = {step.name: step.leaves_native for step in steps(spark, Limits(Settings(groups=groups)))}
    assert list(found) == ["normalise", "read", "marks", "latest", "archive", "profile, watch", "tariffs"]
    assert set(map(tuple, found.values())) == {()}


def test_a_python_function_is_named(spark: SparkSession) -> None:
    doubled = F.udf(lambda number: number * 2, "bigint", useArrow=False)
    step = step_of("x", "", spark.range(3).select(doubled("id")))
    assert step.leaves_native == ["BatchEvalPython"]
