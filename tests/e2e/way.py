"""Puts messages in at the first door and reads what came out at the last, as a user of the whole would."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from strom.settings import Settings
from strom.store.mark_tables import TABLES
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests import waiting

PATIENCE = 600.0  # not asserted: a busy machine may take its time

until = partial(waiting.until, seconds=PATIENCE)


def publish(settings: Settings, messages: Iterable[tuple[str, bytes]]) -> int:
    """Publish (topic, payload) with QoS 1 by an independent client; returns how many the broker confirmed."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.connect(*settings.mqtt_address)
    client.loop_start()
    try:
        under_way = [client.publish(topic, payload, qos=1) for topic, payload in messages]
        for each in under_way:
            each.wait_for_publish(PATIENCE)
        return sum(each.is_published() for each in under_way)
    finally:
        client.disconnect()
        client.loop_stop()


def records(settings: Settings, topic: str) -> list[Record]:
    """Everything that the topic holds now."""
    with Records(settings, [topic], start=EARLIEST, until_end=True) as found:
        return list(found)


@dataclass(frozen=True)
class Outcome:
    """What became of one raw record."""

    payload: bytes
    topic: str
    value: bytes
    headers: dict[str, str]


def outcomes(settings: Settings) -> dict[str, Outcome]:
    """By origin, what each raw record became; a raw record that is still on its way is not in it."""
    came_out = [*records(settings, topics.READINGS), *records(settings, topics.DEAD_LETTER)]
    # Read after what came out of it: whatever has an outcome is then in it.
    raw = {_place(record): record.value or b"" for record in records(settings, topics.RAW)}
    found: dict[str, Outcome] = {}
    for record in came_out:
        origin = record.header(topics.HEADER_ORIGIN) or ""
        headers = {name: (value or b"").decode() for name, value in record.headers}
        found[origin] = Outcome(raw[_raw_place(origin)], record.topic, record.value or b"", headers)
    return found


def await_outcomes(settings: Settings, payloads: Sequence[bytes]) -> list[Outcome]:
    """One outcome for each of these payloads, once all of them have come through."""

    def arrived() -> bool:
        there = {outcome.payload for outcome in outcomes(settings).values()}
        return there.issuperset(payloads)

    until(arrived, "every payload in readings or the dead letter")
    by_payload = {outcome.payload: outcome for outcome in outcomes(settings).values()}
    return [by_payload[payload] for payload in payloads]


def await_taken_in(settings: Settings) -> None:
    """Until every reading that is in the topic is in the tables."""
    last: dict[int, int] = {}
    for record in records(settings, topics.READINGS):
        _, partition, offset = (record.header(topics.HEADER_ORIGIN) or "").rsplit("/", 2)
        last[int(partition)] = max(int(offset), last.get(int(partition), -1))

    def all_taken_in() -> bool:
        stored = taken_in(settings.postgres_url, TABLES)
        return all(stored.get(partition, -1) >= offset for partition, offset in last.items())

    until(all_taken_in, "every reading in the tables")


def _place(record: Record) -> str:
    return f"{record.topic}/{record.partition}/{record.offset}"


def _raw_place(origin: str) -> str:
    """Of its raw record, by whichever way it came."""
    topic, _, place = origin.partition("/")
    return f"{topic.partition(':')[0]}/{place}"
