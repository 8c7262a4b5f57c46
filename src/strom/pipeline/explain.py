"""What Spark makes of each step of the pipeline, and where a step leaves Spark's native code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from strom.pipeline import cells as native
from strom.pipeline.fresh import fresh_readings, reached_rows
from strom.pipeline.lake.archive import lake_rows
from strom.pipeline.latest import newest_rows
from strom.pipeline.limits import Limits
from strom.pipeline.message import KAFKA_SOURCE
from strom.pipeline.normalise import normalise
from strom.pipeline.readings import typed_readings
from strom.pipeline.registers import METER_TARIFFS

# The operators that hand rows to Python, by the names that stand in a plan.
_PYTHON = re.compile(r"\b(\w*(?:EvalPython|InPandas|InArrow|InPython|PythonUDTF|TransformWithState\w*))\b")


@dataclass(frozen=True)
class Step:
    name: str
    does: str
    plan: str

    @property
    def leaves_native(self) -> list[str]:
        """The operators of the plan that run Python for rows; none for native steps."""
        return sorted(set(_PYTHON.findall(self.plan)))


def steps(spark: SparkSession, limits: Limits) -> Iterator[Step]:
    """Every step that sees single messages or readings, in their order, planned over empty sources."""
    raw = spark.createDataFrame([], KAFKA_SOURCE)
    yield step_of("normalise", "sma-kafka to readings and dead letter, in real-time mode", normalise(raw))
    fresh = fresh_readings(typed_readings(raw), [])
    yield step_of("read", "a micro-batch of readings", fresh)
    yield step_of("marks", "how far the raw partitions have been taken in", reached_rows(fresh))
    yield step_of("latest", "the newest reading of each meter", newest_rows(fresh))
    yield step_of("archive", "rows of the lake", lake_rows(fresh))
    summed = native.cells(native.moments(fresh), limits)
    yield step_of("profile, watch", "a row per meter and five minutes, which the driver takes on", summed)
    counted = native.series_cells(METER_TARIFFS.moments(fresh), limits, METER_TARIFFS.by)
    yield step_of("tariffs", "the same of each tariff, where meters count by tariff", counted)


def step_of(name: str, does: str, frame: DataFrame) -> Step:
    return Step(name, does, str(frame._jdf.queryExecution().executedPlan().treeString()))
