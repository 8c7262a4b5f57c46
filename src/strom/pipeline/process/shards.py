"""Divides a step of a pass among the executors: a shard is what hashes there of the meters, and writes by itself.

Each shard publishes, and then commits its rows with the note that it is done. Meters that need more of the lake than
the others are noted in the same transaction; the driver asks for it, and the same shards go on with them. What the driver
gets back does not grow with the meters.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from strom.errors import StromError
from strom.pipeline.cluster import is_local, task_slots
from strom.pipeline.garbage import uncollected
from strom.pipeline.outbox import Outbox
from strom.pipeline.process import executor
from strom.pipeline.shipped import Shipped
from strom.settings import Settings
from strom.store.position_tables import (
    Step,
    drop_waiting,
    enter_shard,
    leave_shard,
    load_waiting,
    save_waiting,
    take_waiting,
)
from strom.store.writes import Work, Writer

MOST_LINES = (
    12_000_000  # characters of folded lines that a shard holds at once; about ten times that in Python
)
MOST_WAITING = 20_000  # meters that the lake is asked for at once
ENOUGH_SHARDS = 32  # each at work has a connection to Postgres; who wants more of them has more partitions
MOST_NEEDS = 8_000_000  # characters of what they need: the driver holds them, and a plan of Spark does

Rows = Iterable[Sequence[str]]  # each meter's name first


class Evaluation(Protocol):
    """What is done with the meters of a shard."""

    def evaluate(self, work: Work, outbox: Outbox, rows: Rows, asked: Mapping[str, str]) -> dict[str, str]:
        """Write what follows from these meters; returns those that wait, with what they need, given what they `asked` for."""


Evaluator = Callable[[Settings], Evaluation]


@dataclass(slots=True)
class Outcome:
    """Of one shard: how many records each topic was told, how many meters wait, the sentence why it failed."""

    told: Counter[str] = field(default_factory=Counter)
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Shard:
    """What an executor is given; called with the shard's number and rows."""

    settings: Settings
    step: Step
    evaluator: Evaluator
    tells: bool
    turn: int  # 0: all meters; after that it goes on with meters that waited
    most_lines: int  # characters

    def __call__(self, number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        outcome = Outcome()
        try:
            self._run(number, iter(rows), outcome)
        except BaseException as error:
            executor.forget_outboxes()
            if not isinstance(error, StromError):
                raise
            outcome.failed = str(error)
        yield outcome

    def _run(self, number: int, rows: Iterator[Sequence[str]], outcome: Outcome) -> None:
        pieces = _pieces(rows, self.most_lines)
        first = next(pieces, None)  # Spark has folded all before it gives one: no transaction waits for that
        if first is None:
            return
        outbox = executor.outbox(self.settings, tells=self.tells)
        told = Counter(outbox.told)
        with executor.writer(self.settings).part() as work, uncollected():
            if not enter_shard(work, self.step, number, self.turn):
                return
            evaluation = self.evaluator(self.settings)
            self._take(work, outbox, evaluation, first)
            for piece in pieces:
                self._take(work, outbox, evaluation, piece)
            outbox.confirm()
            leave_shard(work, self.step, number, self.turn)
        outcome.told = Counter(outbox.told) - told

    def _take(
        self, work: Work, outbox: Outbox, evaluation: Evaluation, rows: Sequence[Sequence[str]]
    ) -> None:
        asked: Mapping[str, str] = {}
        if self.turn:
            asked = take_waiting(work, self.step, [row[0] for row in rows])
            rows = [row for row in rows if row[0] in asked]
        save_waiting(work, self.step, evaluation.evaluate(work, outbox, rows, asked))


@dataclass(frozen=True, slots=True)
class Shards:
    """The driver's side."""

    settings: Settings
    spark: SparkSession
    tells: bool
    told: Counter[str] = field(default_factory=Counter)

    @property
    def number(self) -> int:
        return number_of_shards(self.settings, self.spark)

    def run(
        self,
        writer: Writer,
        step: Step,
        evaluator: Evaluator,
        folded: DataFrame,
        detailed: Callable[[Mapping[str, str]], AbstractContextManager[DataFrame]],
    ) -> None:
        """All shards, and then the meters that wait until none does; `detailed` folds for those what they need.

        A meter that waits again needs more than before. One that was not taken has no readings there any more, because other
        rules hold than when it was noted, say.
        """
        self._each(step, evaluator, folded, 0)
        turn = 0
        while waiting := self._waiting(writer, step):
            turn += 1
            with detailed(waiting) as frame:
                self._each(step, evaluator, frame, turn)
            with writer.work() as work:
                drop_waiting(work, step, waiting)

    def _waiting(self, writer: Writer, step: Step) -> dict[str, str]:
        with writer.work() as work:
            return load_waiting(work, step, MOST_WAITING, MOST_NEEDS)

    def _each(self, step: Step, evaluator: Evaluator, frame: DataFrame, turn: int) -> None:
        shard = Shard(self.settings, step, evaluator, self.tells, turn, MOST_LINES)
        outcomes: list[Outcome] = frame.rdd.mapPartitionsWithIndex(Shipped(shard)).collect()
        for outcome in outcomes:
            self.told.update(outcome.told)
        failed = [outcome.failed for outcome in outcomes if outcome.failed]
        if failed:
            raise StromError(failed[0], exit_code=1)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Has an executor's Python read a shard and import what it takes to evaluate one; nothing is written."""

    settings: Settings
    evaluator: Evaluator

    def __call__(self, _number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        self.evaluator(self.settings)
        for _ in _pieces(iter(rows), MOST_LINES):
            pass
        return iter(())


def rehearse(settings: Settings, evaluator: Evaluator, folded: DataFrame) -> None:
    """Before the first step: imports take half a second in each Python, on an executor that is new twice as long."""
    folded.rdd.mapPartitionsWithIndex(Shipped(Rehearsal(settings, evaluator))).collect()


def number_of_shards(settings: Settings, spark: SparkSession) -> int:
    """As many as the topics have partitions, on a cluster no fewer than it runs tasks at once."""
    slots = 0 if is_local(settings) else min(task_slots(spark), ENOUGH_SHARDS)
    return max(settings.kafka.partitions, slots)


def _pieces(rows: Iterator[Sequence[str]], most: int) -> Iterator[list[Sequence[str]]]:
    """As many rows as may be held at once, a meter's all together."""
    piece: list[Sequence[str]] = []
    size = 0
    for row in rows:
        piece.append(row)
        size += len(row[1])
        if size >= most:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
