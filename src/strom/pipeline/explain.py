"""What Spark makes of each step of the pipeline, and where a step leaves Spark's native code. Asks no server."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from strom.pipeline.fresh import fresh_readings, reached_rows
from strom.pipeline.lake.archive import SCHEMA, Archive, lake_rows
from strom.pipeline.limits import Limits
from strom.pipeline.message import KAFKA_SOURCE
from strom.pipeline.normalise import normalise
from strom.pipeline.process import arrival_frames, settlement_frames
from strom.pipeline.process.needs import SettlementNeed
from strom.pipeline.queries import source
from strom.pipeline.readings import typed_readings
from strom.pipeline.side import looked_through, whole_messages
from strom.settings import Settings
from strom.streams import topics

_HEAD = "== Physical Plan =="
_BRANCH = re.compile(r"(?:[ :] {2})*(?:\+- |:- )")  # what stands before an operator that feeds another one
_OPERATOR = re.compile(r"(?:\*\(\d+\) )?(\w+)")  # behind the number of its generated code, if it has one
# The operators that hand rows to Python, by the ends of their names.
_PYTHON = re.compile(r"\w*(?:EvalPython|InPandas|InArrow|InPython|PythonUDTF|TransformWithState\w*)")


@dataclass(frozen=True, slots=True)
class Operator:
    """A line of a plan: the branch on which it stands, and what it does."""

    branch: str
    text: str

    @property
    def name(self) -> str:
        found = _OPERATOR.match(self.text)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Step:
    """`why_not`: the sentence, where there is no plan."""

    name: str
    does: str
    plan: tuple[Operator, ...] = ()
    why_not: str = ""

    @property
    def leaves_native(self) -> list[str]:
        """The operators of the plan that run Python for rows; none for native steps."""
        return sorted({each.name for each in self.plan if _PYTHON.fullmatch(each.name)})


def steps(spark: SparkSession, settings: Settings) -> Iterator[Step]:
    """Every step that sees single messages or readings, in their order; batches are planned over empty ones."""
    limits = Limits(settings)
    raw = source(spark, settings, topics.RAW)
    yield step_of("normalise", "sma-kafka to readings and dead letters, in real-time mode", normalise(raw))
    passed_on = spark.createDataFrame([], KAFKA_SOURCE)
    yield step_of(
        "side",
        "dialects that native columns cannot read, passed on by normalise and decoded in micro-batches",
        whole_messages(passed_on),
    )
    yield step_of(
        "parts",
        "where parts of large messages stand, which the driver puts together",
        looked_through(passed_on),
    )
    fresh = fresh_readings(typed_readings(spark.createDataFrame([], KAFKA_SOURCE)), [])
    yield step_of("read", "a micro-batch of readings", fresh)
    yield step_of("marks", "how far the raw partitions have been taken in", reached_rows(fresh))
    yield step_of("archive", "rows of the lake", lake_rows(fresh))
    shards = settings.kafka.partitions
    yield step_of(
        "arrivals",
        "when each meter's messages came and its newest reading, which the executors' Python takes on",
        arrival_frames.folded(fresh, limits, shards),
    )
    settled = settlement_frames.folded(fresh, limits, shards, has_tariffs=True)
    yield step_of(
        "settlement", "each meter's cells of five minutes, which the executors' Python takes on", settled
    )
    needs = {"meter": SettlementNeed(first=0, late=True)}
    with settlement_frames.detailed(fresh, _EmptyLake(spark), needs, limits, shards) as late:
        yield step_of("late", "the same from the lake, for meters with readings that came late", late)


def step_of(name: str, does: str, frame: DataFrame) -> Step:
    return Step(name, does, plan_of(frame))


def plan_of(frame: DataFrame) -> tuple[Operator, ...]:
    """One for each operator; Spark breaks a line where a text of the query has a line break."""
    jvm: Any = frame.sparkSession._jvm
    plan = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple")
    found: list[Operator] = []
    for line in plan.removeprefix(_HEAD).strip("\n").split("\n"):
        branch = _BRANCH.match(line)
        if branch is None and found:
            found[-1] = Operator(found[-1].branch, f"{found[-1].text}\\n{_shown(line)}")
        else:
            begin = branch.end() if branch else 0
            found.append(Operator(line[:begin], _shown(line[begin:])))
    return tuple(found)


def _shown(text: str) -> str:
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


class _EmptyLake(Archive):
    """Enough to plan what is read from a lake."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark, "")

    def rows(self) -> DataFrame:
        return self.spark.createDataFrame([], SCHEMA)
