"""The driver's part of both passes: it plans what Spark folds, and asks the lake for meters that need more of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from pyspark.sql import DataFrame

from strom.pipeline.lake.archive import Archive
from strom.pipeline.limits import Limits
from strom.pipeline.process import arrival_frames, settlement_frames
from strom.pipeline.process.arrivals import Arrivals
from strom.pipeline.process.needs import ArrivalsNeed, SettlementNeed
from strom.pipeline.process.settlement import Settlement
from strom.pipeline.process.shards import Shards
from strom.pipeline.shipping import ship
from strom.settings import Settings
from strom.store.position_tables import Step
from strom.store.writes import Writer


class Passes:
    """`by_arrival`: whether readings come in the order of their arrival; only then can they tell who was silent."""

    def __init__(
        self,
        settings: Settings,
        archive: Archive,
        writer: Writer,
        *,
        watches: bool,
        tells: bool,
        by_arrival: bool,
    ) -> None:
        ship(archive.spark, settings)
        self._archive = archive
        self._writer = writer
        self._limits = Limits(settings)
        self._shards = Shards(settings, archive.spark, tells)
        self._arrivals = partial(Arrivals, watches=watches, by_arrival=by_arrival)
        self._settlement = partial(Settlement, watches=watches)

    @property
    def shards(self) -> int:
        """How many a new step is divided into."""
        return self._shards.number

    @property
    def told(self) -> Counter[str]:
        """How many records each topic was told."""
        return self._shards.told

    def arrivals(self, step: Step, readings: DataFrame) -> None:
        """What arrived."""

        @contextmanager
        def detailed(waiting: Mapping[str, str]) -> Iterator[DataFrame]:
            needs = {meter: ArrivalsNeed.parsed(text) for meter, text in waiting.items()}
            yield arrival_frames.detailed(readings, self._archive, needs, self._limits, step.shards)

        folded = arrival_frames.folded(readings, self._limits, step.shards)
        self._shards.run(self._writer, step, self._arrivals, folded, detailed)

    def settlement(
        self, step: Step, readings: DataFrame, *, has_tariffs: bool = True, again: bool = False
    ) -> None:
        """What is settled; `again`: also what is as it was is judged by the rules that hold now."""

        @contextmanager
        def detailed(waiting: Mapping[str, str]) -> Iterator[DataFrame]:
            needs = {meter: SettlementNeed.parsed(text) for meter, text in waiting.items()}
            with settlement_frames.detailed(
                readings, self._archive, needs, self._limits, step.shards
            ) as frame:
                yield frame

        folded = settlement_frames.folded(readings, self._limits, step.shards, has_tariffs=has_tariffs)
        evaluator = partial(self._settlement, again=again)
        self._shards.run(self._writer, step, evaluator, folded, detailed)
