"""The books of an array whose messages are alike: the least work for each of them.

Their partitions are chosen here. What is written to one partition is reported in the order in which it was handed over,
so that offsets in their order are all that needs to be kept of a report: all messages get the same time from here, and a
topic that puts its own in its place says so in the first report. What is not written may be reported before what was
sent earlier: from the first such report on, key and value tell whose it is. A report that fits nothing puts the whole array
in doubt, and the caller is told so.
"""

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import repeat
from operator import length_hint
from typing import Any, Protocol

from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report

from strom.errors import StromError
from strom.ingest.gateway.batches import Batch, Way, kafka_error
from strom.ingest.gateway.messages import Alike
from strom.ingest.gateway.outcome import LATE, NotWritten, beginning, ending, told_offset

LOG = logging.getLogger("strom.gateway")

_Written = tuple[
    list[int | None], list[str]
]  # offsets, and times as they are told where they are Kafka's own
_Unreported = dict[tuple[bytes, bytes], deque[int]]  # indices by key and value
_Receiver = Callable[[KafkaError | None, Report], None]


class AlikeWay(Way, Protocol):
    def partitions_for(self, alike: Alike) -> list[int]: ...


class AlikeBatch(Batch):
    """As a Batch, with one callback for each partition instead of one for each message."""

    def __init__(self, alike: Alike, way: AlikeWay) -> None:
        super().__init__(alike, way)
        self._alike = alike
        self._choose = way.partitions_for
        self._partitions: list[int] = []  # of each message
        self._sent_at = time.time_ns() // 1_000_000
        self._written: dict[int, _Written] = {}  # by partition
        self._partitions_open = 0
        self._unreported: _Unreported | None = None  # as long as their order tells whose reports they are

    def hand_over(self, producer: Producer) -> None:
        alike = self._alike
        try:
            self._partitions = self._choose(alike)
        except StromError as error:
            for index in range(len(alike)):
                self._failed(index, kafka_error(error))
            return
        receivers = {
            number: self._receiver(number, count) for number, count in Counter(self._partitions).items()
        }
        self._partitions_open = len(receivers)
        values = iter(alike.values)
        called = map(receivers.__getitem__, self._partitions)
        given: list[Iterable[Any]] = [repeat(alike.topic), values, alike.keys, self._partitions, called]
        given += repeat(None), repeat(self._sent_at)
        if alike.headers is not None:
            given.append(repeat(alike.headers))
        calls = map(producer.produce, *given)
        refused: dict[int, KafkaError] = {}
        while True:
            try:
                deque(calls, maxlen=0)  # makes them one after the other
                break
            except (BufferError, KafkaException) as error:
                refused[len(alike) - length_hint(values) - 1] = kafka_error(error)
        if refused:
            self._go_by_value(refused)
            for index, why in refused.items():
                self._failed(index, why)

    def give_up(self) -> None:
        if self._unreported is None:
            self._go_by_value()
        super().give_up()

    def _receiver(self, partition: int, count: int) -> _Receiver:
        """Called for every message, so all that it needs is at hand."""
        written: _Written = [], []
        self._written[partition] = offsets, endings = written
        add_offset, add_ending = offsets.append, endings.append
        has_own_time = False

        def came(error: KafkaError | None, report: Report) -> None:
            nonlocal has_own_time
            if error is not None or self._unreported is not None:
                self._told_by_value(error, report)
                return
            if not offsets:
                has_own_time = report.timestamp()[0] != TIMESTAMP_CREATE_TIME
            add_offset(report.offset())
            if has_own_time:
                add_ending(ending(report.timestamp()[1]))
            if len(offsets) == count:
                self._partitions_open -= 1
                if not self._partitions_open:
                    self._all_written()

        return came

    def _all_written(self) -> None:
        partitions = self._partitions
        begins = {number: beginning(self._alike.topic, number) for number in self._written}
        in_order = map(next, map(self._in_turn().__getitem__, partitions))
        self._outcomes = [
            f"{begins[partition]}{offset}{end}"
            for partition, (offset, end) in zip(partitions, in_order, strict=True)
        ]
        self._settle()

    def _in_turn(self) -> dict[int, Iterator[tuple[int | str, str]]]:
        """Offset and what follows it of all that was reported, by partition."""
        ours = ending(self._sent_at)
        return {
            number: zip(map(told_offset, offsets), endings or repeat(ours), strict=False)
            for number, (offsets, endings) in self._written.items()
        }

    def _go_by_value(self, refused: Collection[int] = ()) -> _Unreported:
        """From now on; of the refused no report will come."""
        unreported: _Unreported = defaultdict(deque)
        self._unreported = unreported
        reports = self._in_turn()
        alike = zip(self._partitions, self._alike.keys, self._alike.values, strict=True)
        for index, (partition, key, value) in enumerate(alike):
            if index in refused:
                continue
            report = next(reports[partition], None)
            if report is None:
                unreported[key, value.encode()].append(index)
            else:
                offset, end = report
                self._outcomes[index] = f"{beginning(self._alike.topic, partition)}{offset}{end}"
                self._left -= 1
        return unreported

    def _told_by_value(self, error: KafkaError | None, report: Report) -> None:
        if self._is_settled:
            return  # given up, or in doubt
        unreported = self._go_by_value() if self._unreported is None else self._unreported
        same = unreported[report.key() or b"", report.value() or b""]
        if same:  # of two that are the same, either will do
            self._reported(same.popleft(), error, report)
        else:
            self._doubt(report)

    def _doubt(self, report: Report) -> None:
        """Two reports of one message: so an earlier one was another's, and nobody knows whose."""
        LOG.error("reports of %s/%s came in an unknown order", self._alike.topic, report.partition())
        self._left = 0
        for index, outcome in enumerate(self._outcomes):
            if not isinstance(outcome, NotWritten):
                self._outcomes[index] = LATE
        self.failed = len(self._outcomes)
        self._settle()
