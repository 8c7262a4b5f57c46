"""Sends dead letters in anew after a fix, each once.

What was sent is noted in the topic REDRIVEN after Kafka has confirmed it. A run that died between the two is found by
its mark that was never taken back: the raw topic since then tells what it had sent. Runs hold a lease, so that no two
of them send the same side by side.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from strom.domain import values
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import ensure_contract_topics
from strom.streams.client import as_strom_error, error_of
from strom.streams.dead_letters import CLOCKS_MS, IDENTITY_BYTES, DeadLetter, with_copies
from strom.streams.lease import SAFE_SECONDS, Lease
from strom.streams.producer import open_producer
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST, Kind, Start

GROUP = "strom-redrive"
AT_ONCE = 500  # letters that may be under way before the lease is checked again
BUSY = "another redrive is under way; run this again when it has ended."
LOG = logging.getLogger("strom.redrive")
_PLACE = re.compile("[0-9]{1,9}/[0-9]{1,19}")
_RUN = b"run"  # the key of the mark that a run is under way
_CHECK_SECONDS = 1.0
_OWN_HEADERS = (topics.HEADER_REASON, topics.HEADER_DETAIL, topics.HEADER_ORIGIN, topics.HEADER_REDRIVEN)


def redriven(settings: Settings) -> set[bytes]:
    """The identities of the dead letters that were sent in anew already."""
    noted, unnoted = _notes(settings)
    return noted.union(unnoted.values())


def _notes(settings: Settings) -> tuple[set[bytes], dict[str, bytes]]:
    """What was noted as sent, and by its place what was sent without such a note.

    That is what a run that died could not note, and what was noted by its place alone, as it once was.
    """
    ensure_contract_topics(settings)
    noted: set[bytes] = set()
    by_place: set[str] = set()
    began_ms: int | None = None
    foreign: list[Record] = []
    with Records(settings, [topics.REDRIVEN], start=EARLIEST, until_end=True) as notes:
        for record in notes:
            note = _note_in(record)
            if note is None:
                foreign.append(record)
            elif note.is_run:
                began_ms = note.began_ms
            elif note.letter is not None:
                noted.add(note.letter)
                by_place.discard(note.place)
            else:
                by_place.add(note.place)
    if foreign:
        _tell_of(foreign)
    if began_ms is not None:
        by_place |= _sent_since(settings, began_ms)
    found = (letter for letter in with_copies(settings) if letter.place in by_place) if by_place else ()
    return noted, {letter.place: letter.identity for letter in found if letter.identity not in noted}


class _Note(NamedTuple):
    """What a record of the topic says: a run that is under way or ended, or a letter that was sent."""

    is_run: bool = False
    began_ms: int | None = None
    letter: bytes | None = None
    place: str = ""


def _note_in(record: Record) -> _Note | None:
    """None where somebody else wrote it."""
    try:
        told = json.loads(record.value or b"")
        if record.key == _RUN:
            return _run_in(told)
        place = (record.key or b"").decode()
        if "letter" in told:
            letter = bytes.fromhex(told["letter"])
            return _Note(letter=letter, place=place) if len(letter) == IDENTITY_BYTES else None
    except (ValueError, TypeError, RecursionError):
        return None
    return _Note(place=place) if told == {} and _PLACE.fullmatch(place) else None


def _run_in(told: Any) -> _Note | None:
    if told == {}:
        return _Note(is_run=True)
    began_ms = told.get("began_ms") if isinstance(told, dict) else None
    plausible = type(began_ms) is int and 0 <= began_ms <= values.LATEST_MS
    return _Note(is_run=True, began_ms=began_ms) if plausible else None


def _tell_of(foreign: Sequence[Record]) -> None:
    first = foreign[0]
    LOG.warning(
        "%s records in %s were not written by a redrive and are passed over, the first one at %s/%d/%d",
        f"{len(foreign):,}",
        topics.REDRIVEN,
        first.topic,
        first.partition,
        first.offset,
    )


def _sent_since(settings: Settings, began_ms: int) -> set[str]:
    start = Start(Kind.TIME, began_ms - CLOCKS_MS)
    with Records(settings, [topics.RAW], start=start, until_end=True) as records:
        found = (record.header(topics.HEADER_REDRIVEN) for record in records)
        return {place for place in found if place is not None}


class Redrive:
    """Sends dead letters into the raw topic as they first came; one run at a time, wherever it runs.

    with Redrive(settings) as redrive:
        for letter in letters: redrive.send(letter)
    """

    def __init__(self, settings: Settings) -> None:
        self.done: set[bytes] = set()  # the identities of what was sent before this run
        self.sent = 0
        self._settings = settings
        self._to_note: list[tuple[str, bytes]] = []
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
            for place, identity in unnoted.items():
                self._note(place, identity)
            self.done = noted.union(unnoted.values())
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
        try:
            self._produce(
                topics.RAW,
                record.key,
                record.value,
                headers=[*headers, (topics.HEADER_REDRIVEN, letter.place.encode())],
                on_delivery=partial(self._delivered, letter.place, letter.identity),
            )
        except KafkaException as error:
            if error_of(error).code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise as_strom_error(self._settings, "take all of them", error) from None
            LOG.warning("%s is too large to be sent in anew and is passed over", letter.place)
            return
        self._under_way += 1
        if self._under_way == AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        """Wait for what is under way, and note it; raises if Kafka did not take all of it."""
        self._producer.flush()
        self._under_way = 0
        delivered, self._to_note = self._to_note, []
        self.sent += len(delivered)
        for place, identity in delivered:
            self._note(place, identity)
        self._producer.flush()
        if self._refused is not None:
            raise as_strom_error(self._settings, "take all of them", KafkaException(self._refused))

    def _delivered(self, place: str, identity: bytes, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self._to_note.append((place, identity))
        else:
            self._refused = error

    def _note(self, place: str, identity: bytes) -> None:
        """The place for people; a copy of the letter, which has another, is known by the identity."""
        self._produce(topics.REDRIVEN, place.encode(), json.dumps({"letter": identity.hex()}).encode())

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
