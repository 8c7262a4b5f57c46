"""What both kinds of replay share: the readings they are about, how far they are, what came of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from strom.errors import StromError
from strom.pipeline.given import of_meters
from strom.pipeline.lake.table import in_span
from strom.pipeline.replay.plan import Plan, unknown

Report = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """`told`: how many records each topic was told, which is what changed; only in place."""

    readings: int
    seconds: float
    stopped: bool
    told: dict[str, int] = field(default_factory=dict)


class Pace:
    """Tells how far the work is."""

    def __init__(self, total: int, done: int, report: Report) -> None:
        self.total, self.done, self._first = total, done, done
        self._report = report
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def count(self) -> int:
        return self.done - self._first

    def step(self, readings: int, what: str) -> None:
        self.done += readings
        share = 100 * self.done / self.total if self.total else 100
        rate = self.count / self.seconds if self.seconds else 0
        self._report(f"{share:3.0f} %  {self.done:,} of {self.total:,} readings, {rate:,.0f}/s, {what}")


def of_plan(readings: DataFrame, plan: Plan) -> DataFrame:
    """The readings that the plan is about."""
    if plan.meters:
        names = [row["meter"] for row in readings.select("meter").distinct().collect()]
        readings = of_meters(readings, [name for name in names if plan.wants(name)])
    return in_span(readings, plan.since, plan.until)


def refuse_nothing(readings: DataFrame, plan: Plan) -> None:
    """A replay of nothing is a mistake in what was asked for."""
    names = [row["meter"] for row in readings.select("meter").distinct().collect()]
    if not names:
        raise StromError("the lake holds no readings yet; there is nothing to replay.")
    if missing := unknown(plan.meters, names):
        raise StromError(f"no reading is of a meter {missing[0]}; `strom lake status --meters` lists them.")
    if of_plan(readings, plan).isEmpty():
        raise StromError(
            "no reading lies in that span of time; `strom lake status` tells the first and last day."
        )
