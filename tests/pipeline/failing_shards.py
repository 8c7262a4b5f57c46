"""What happens to shards on executors that are lost; for a test to put in the place of `Shard`."""

from collections.abc import Iterable, Iterator, Sequence
from unittest.mock import patch

from strom.errors import StromError
from strom.pipeline.outbox import Outbox, SilentOutbox
from strom.pipeline.process import executor
from strom.pipeline.process.shards import Evaluation, Outcome, Shard
from strom.store.writes import Work


class RepeatedShard(Shard):
    """Committed, and run again from the beginning: its executor died before Spark heard of it."""

    def __call__(self, number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        came = list(rows)
        list(super().__call__(number, came))
        yield from super().__call__(number, came)


class UnheardShard(Shard):
    """Committed; the driver is told that it failed."""

    def __call__(self, number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        _taken.clear()
        (outcome,) = super().__call__(number, rows)
        if _taken:
            outcome.failed = "nobody heard of it"
        yield outcome

    def _take(
        self, work: Work, outbox: Outbox, evaluation: Evaluation, rows: Sequence[Sequence[str]]
    ) -> None:
        super()._take(work, outbox, evaluation, rows)
        _taken.append(len(rows))


class InterruptedShard(Shard):
    """Every second of them fails in the middle."""

    def __call__(self, number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        _taken.clear()
        if (number + self.step.epoch) % 2:
            _taken.append(number)
        return super().__call__(number, rows)

    def _take(
        self, work: Work, outbox: Outbox, evaluation: Evaluation, rows: Sequence[Sequence[str]]
    ) -> None:
        super()._take(work, outbox, evaluation, rows)
        if _taken:
            raise StromError("it was interrupted.", exit_code=1)


class RefusedShard(Shard):
    """Kafka refuses what every second of them publishes."""

    def __call__(self, number: int, rows: Iterable[Sequence[str]]) -> Iterator[Outcome]:
        refuses = (number + self.step.epoch) % 2
        outbox = RefusedOutbox() if refuses else SilentOutbox()
        with patch.object(executor, "outbox", lambda *_, **__: outbox):
            yield from super().__call__(number, rows)


class RefusedOutbox(SilentOutbox):
    def confirm(self) -> None:
        raise StromError("Kafka refused 1 records.", exit_code=1)


_taken: list[int] = []  # by the one task at a time that an executor's Python runs
