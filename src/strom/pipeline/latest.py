"""The stage `latest`: the newest reading of each meter, its push interval, its number; told on the topic `meters`."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from strom.domain.push_interval import PushInterval
from strom.domain.reading import time_text
from strom.pipeline.outbox import Outbox
from strom.pipeline.process.arrived import ArrivalCell, Arrived
from strom.store.meter_tables import (
    Latest,
    MeterState,
    Seen,
    load_meters,
    save_latest,
    save_meters,
    save_states,
)
from strom.store.writes import Work
from strom.streams.topics import METERS

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def next_state(old: MeterState | None, own: Sequence[ArrivalCell], now_ms: int) -> MeterState:
    """The meter's state after these cells, which are taken in now."""
    push = PushInterval(old.interval_s, old.votes) if old else PushInterval()
    # Late ones tell nothing new: what a meter did in a past that is filled in, or replayed, is not how it sends now.
    new = [cell for cell in own if old is None or cell.first_t > old.newest]
    for cell in new:
        if cell.samples > 1:
            push = push.observe((cell.last_t - cell.first_t) / (cell.samples - 1), cell.samples - 1)
    edges = [*([old.newest] if old else []), *(cell.first_t for cell in new if cell.samples == 1)]
    for before, after in pairwise(edges):
        push = push.observe(after - before, 1)
    newest = max([cell.last_t for cell in own] + ([old.newest] if old else []))
    received = max([cell.received for cell in own] + ([old.received] if old else []))
    heard = max([min(cell.received, now_ms) for cell in own] + ([old.heard] if old else []))
    return MeterState(newest, received, push.seconds, push.votes, heard)


def write_latest(
    work: Work,
    outbox: Outbox,
    meters: Mapping[str, Arrived],
    states: dict[str, MeterState],
) -> None:
    """Store the newest reading and the state of every touched meter."""
    readings = [_latest(each) for each in meters.values()]
    save_states(work, states)
    changed = set(save_latest(work, readings))
    known = load_meters(work, meters)
    now = {each.meter: _seen(known.get(each.meter), each, states[each.meter].interval_s) for each in readings}
    save_meters(work, {meter: seen for meter, seen in now.items() if seen != known.get(meter)})
    for reading in readings:
        if reading.meter in changed:
            outbox.send(METERS, reading.meter.encode(), _as_json(reading, now[reading.meter]).encode())


def _as_json(reading: Latest, seen: Seen) -> str:
    """What the topic tells of a meter; the reading's own JSON stands in it as it is."""
    value: dict[str, Any] = {"v": 1, "meter": reading.meter}
    if seen.meter_number is not None:
        value["meter_number"] = seen.meter_number
    if seen.interval_s is not None:
        value["interval_s"] = round(seen.interval_s)
    value["first_seen"] = time_text(seen.first_seen or reading.first_received)
    return f'{_JSON.encode(value)[:-1]},"reading":{reading.reading}}}'


def _seen(old: Seen | None, reading: Latest, interval_s: int | None) -> Seen:
    """What is known of the meter with this reading: the number of the newest one that tells one, the earliest arrival."""
    told = (reading.meter_number, reading.number_at)
    if old is None:
        return Seen(*told, interval_s, reading.first_received)
    if reading.number_at is None or reading.number_at < (old.number_at or 0):
        told = (old.meter_number, old.number_at)
    return Seen(
        *told,
        old.interval_s if interval_s is None else interval_s,
        min(reading.first_received, old.first_seen or reading.first_received),
    )


def _latest(arrived: Arrived) -> Latest:
    cells, newest = arrived.cells, arrived.newest
    return Latest(
        meter=arrived.meter,
        at=cells[-1].last_t,
        received=cells[-1].newest_received,
        first_received=min(cell.received_first for cell in cells),
        values=newest.values,
        reading=newest.reading,
        meter_number=newest.meter_number,
        number_at=newest.number_at,
    )
