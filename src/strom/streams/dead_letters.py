"""What could not be read: finds it again, and sends it in anew after a fix, each record once.

What was sent is noted in the topic REDRIVEN after Kafka has confirmed it. A run that died between the two is found by
its mark that was never taken back: the raw topic since then tells what it had sent. Runs hold a lease, so that no two
of them send the same side by side.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from strom.domain.values import topic_name
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import ensure_contract_topics
from strom.streams.client import as_strom_error
from strom.streams.consumer import Record, Records
from strom.streams.lease import SAFE_SECONDS, Lease
from strom.streams.producer import open_producer
from strom.streams.start import EARLIEST, Kind, Start

GROUP = "strom-redrive"
AT_ONCE = 500  # letters that may be under way before the lease is checked again
BUSY = "another redrive is under way; run this again when it has ended."
_RUN = b"run"  # the key of the mark that a run is under way
_CHECK_SECONDS = 1.0
_CLOCKS_MS = 60_000  # how far two machines' clocks may be apart
_OWN_HEADERS = (topics.HEADER_REASON, topics.HEADER_DETAIL, topics.HEADER_ORIGIN, topics.HEADER_REDRIVEN)


@dataclass(frozen=True)
class DeadLetter:
    record: Record

    @property
    def place(self) -> str:
        """What names it: partition/offset in the dead-letter topic."""
        return f"{self.record.partition}/{self.record.offset}"

    @property
    def reason(self) -> str:
        return self.record.header(topics.HEADER_REASON) or ""

    @property
    def detail(self) -> str:
        return self.record.header(topics.HEADER_DETAIL) or ""

    @property
    def arrived_ms(self) -> int:
        told = self.record.header(topics.HEADER_RECEIVED) or ""
        return int(told) if told.isascii() and told.isdecimal() else self.record.at_ms or 0

    @property
    def meter(self) -> str:
        """As far as the door could tell: the record's key, else the MQTT topic's last level."""
        key = (self.record.key or b"").decode(errors="replace")
        return key or topic_name(self.record.header(topics.HEADER_TOPIC)) or ""


@dataclass(frozen=True)
class Wanted:
    """Which dead letters: of any of these reasons and meters (none: of all), arrived from … until …"""

    reasons: frozenset[str] = frozenset()
    meters: frozenset[str] = frozenset()
    since_ms: int = 0
    until_ms: int = 2**62

    def holds(self, letter: DeadLetter) -> bool:
        return (
            (not self.reasons or letter.reason in self.reasons)
            and (not self.meters or letter.meter in self.meters)
            and self.since_ms <= letter.arrived_ms < self.until_ms
        )


def dead_letters(settings: Settings, wanted: Wanted) -> Iterator[DeadLetter]:
    """Those that are there now; none is written before it arrived, so older ones need not be read."""
    start = Start(Kind.TIME, wanted.since_ms - _CLOCKS_MS) if wanted.since_ms > _CLOCKS_MS else EARLIEST
    with Records(settings, [topics.DEAD_LETTER], start=start, until_end=True) as records:
        yield from (letter for record in records if wanted.holds(letter := DeadLetter(record)))


def redriven_places(settings: Settings) -> set[str]:
    """The dead letters that were sent in anew already."""
    noted, unnoted = _notes(settings)
    return noted | unnoted


def _notes(settings: Settings) -> tuple[set[str], set[str]]:
    """What was noted as sent, and what a run that died had sent and could not note."""
    ensure_contract_topics(settings)
    noted: set[str] = set()
    began_ms: int | None = None
    with Records(settings, [topics.REDRIVEN], start=EARLIEST, until_end=True) as notes:
        for note in notes:
            if note.key == _RUN:
                began_ms = json.loads(note.value or b"{}").get("began_ms")
            elif note.key is not None:
                noted.add(note.key.decode())
    return noted, set() if began_ms is None else _sent_since(settings, began_ms) - noted


def _sent_since(settings: Settings, began_ms: int) -> set[str]:
    start = Start(Kind.TIME, began_ms - _CLOCKS_MS)
    with Records(settings, [topics.RAW], start=start, until_end=True) as records:
        found = (record.header(topics.HEADER_REDRIVEN) for record in records)
        return {place for place in found if place is not None}


class Redrive:
    """Sends dead letters into the raw topic as they first came; one run at a time, wherever it runs.

    with Redrive(settings) as redrive:
        for letter in letters: redrive.send(letter)
    """

    def __init__(self, settings: Settings) -> None:
        self.done: set[str] = set()  # what was sent before this run
        self.sent = 0
        self._settings = settings
        self._to_note: list[str] = []
        self._under_way = 0
        self._checked = 0.0
        self._refused: KafkaError | None = None
        ensure_contract_topics(settings)
        self._lease = Lease(settings, GROUP, topics.REDRIVEN, busy=BUSY)
        # What is not confirmed soon is given up: later it could meet what the next holder sends.
        limit = {"message.timeout.ms": round(SAFE_SECONDS * 1000)}
        self._producer: Producer = open_producer(settings, GROUP, **limit)

    def __enter__(self) -> Self:
        self._lease.__enter__()
        try:
            noted, unnoted = _notes(self._settings)  # only now: the former holder may have gone on until now
            self.done = noted | unnoted
            for place in unnoted:
                self._note(place)
            self._mark({"began_ms": int(time.time() * 1000)})
        except BaseException:
            self._lease.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._settle()
            if kind is None:
                self._lease.check()  # the next holder's mark must stand
                self._mark({})
        finally:
            self._lease.close()

    def send(self, letter: DeadLetter) -> None:
        if self._under_way == 0 or time.monotonic() - self._checked > _CHECK_SECONDS:
            self._checked = time.monotonic()
            self._lease.check()
        record = letter.record
        headers = [(name, value) for name, value in record.headers if name not in _OWN_HEADERS]
        self._produce(
            topics.RAW,
            record.key,
            record.value,
            headers=[*headers, (topics.HEADER_REDRIVEN, letter.place.encode())],
            on_delivery=partial(self._delivered, letter.place),
        )
        self._under_way += 1
        if self._under_way == AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        """Wait for what is under way, and note it; raises if Kafka did not take all of it."""
        self._producer.flush()
        self._under_way = 0
        delivered, self._to_note = self._to_note, []
        self.sent += len(delivered)
        for place in delivered:
            self._note(place)
        self._producer.flush()
        if self._refused is not None:
            raise as_strom_error(self._settings, "take all of them", KafkaException(self._refused))

    def _delivered(self, place: str, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self._to_note.append(place)
        else:
            self._refused = error

    def _note(self, place: str) -> None:
        self._produce(topics.REDRIVEN, place.encode(), b"{}")

    def _mark(self, state: dict[str, int]) -> None:
        self._produce(topics.REDRIVEN, _RUN, json.dumps(state).encode())
        self._producer.flush()

    def _produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, headers=list(headers), on_delivery=on_delivery)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)
