"""The stage `latest`: the newest reading of each meter, its push interval, its number; told on the topic `meters`."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from strom.domain.push_interval import PushInterval
from strom.domain.reading import time_text
from strom.pipeline.outbox import Outbox
from strom.pipeline.series import Cell
from strom.store.meter_tables import Latest, MeterState, save_latest, save_meters, save_states
from strom.store.profile_tables import millis
from strom.store.writes import Work
from strom.streams.topics import METERS

SHOWN = ("import_w", "export_w", "import_wh", "export_wh")


def by_meter(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each meter in order of time."""
    found: defaultdict[str, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: cell["cell"]):
        found[cell["meter"]].append(cell)
    return dict(found)


def next_state(old: MeterState | None, own: Sequence[Cell]) -> MeterState:
    """The meter's state after these cells."""
    push = PushInterval(old.interval_s, old.votes) if old else PushInterval()
    # Late ones tell nothing new: what a meter did in a past that is filled in, or replayed, is not how it sends now.
    new = [cell for cell in own if old is None or cell["first_t"] > old.newest]
    for cell in new:
        if cell["samples"] > 1:
            push = push.observe(
                (cell["last_t"] - cell["first_t"]) / (cell["samples"] - 1), cell["samples"] - 1
            )
    edges = [*([old.newest] if old else []), *(cell["first_t"] for cell in new if cell["samples"] == 1)]
    for before, after in pairwise(edges):
        push = push.observe(after - before, 1)
    newest = max([cell["last_t"] for cell in own] + ([old.newest] if old else []))
    received = max([cell["received"] for cell in own] + ([old.received] if old else []))
    return MeterState(newest, received, push.seconds, push.votes)


def write_latest(
    work: Work, outbox: Outbox, cells: Mapping[str, Sequence[Cell]], states: dict[str, MeterState]
) -> None:
    """Store the newest reading and the state of every touched meter."""
    readings = [_latest(meter, own) for meter, own in cells.items()]
    save_states(work, states)
    changed = set(save_latest(work, readings))
    intervals = {meter: state.interval_s for meter, state in states.items()}
    known = save_meters(work, readings, intervals)
    for reading in readings:
        if reading.meter in changed:
            number, interval, first_seen = known[reading.meter]
            told = {"meter_number": number, "interval_s": None if interval is None else round(interval)}
            value = {"v": 1, "meter": reading.meter} | {
                name: each for name, each in told.items() if each is not None
            }
            value |= {"first_seen": time_text(millis(first_seen)), "reading": json.loads(reading.reading)}
            outbox.put(METERS, reading.meter, value)


def _latest(meter: str, own: Sequence[Cell]) -> Latest:
    newest = own[-1]
    reading = json.loads(newest["value"], parse_float=str)
    numbers = [(cell["number_t"], cell["meter_number"]) for cell in own if cell["number_t"] is not None]
    number_at, meter_number = numbers[-1] if numbers else (None, None)
    return Latest(
        meter=meter,
        at=newest["last_t"],
        received=newest["newest_received"],
        first_received=min(cell["received_first"] for cell in own),
        values=[reading.get(name) for name in SHOWN],
        reading=newest["value"],
        meter_number=meter_number,
        number_at=number_at,
    )
