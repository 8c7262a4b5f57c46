"""The stage `latest`: the newest reading of each meter, its push interval, its number; told on the topic `meters`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.push_interval import PushInterval
from strom.domain.reading import time_text
from strom.pipeline.lake.reading_text import lake_json
from strom.pipeline.outbox import Outbox
from strom.pipeline.series import Cell, by_owner
from strom.store.meter_tables import Latest, MeterState, save_latest, save_meters, save_states
from strom.store.profile_tables import millis
from strom.store.writes import Work
from strom.streams.topics import METERS

SHOWN = ("import_w", "export_w", "import_wh", "export_wh")


def by_meter(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each meter in order of time."""
    return by_owner(cells, itemgetter("meter"))


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


@dataclass(frozen=True, slots=True)
class Newest:
    """The JSON of a meter's newest reading, and what the newest one with a number tells."""

    reading: str
    number_at: int | None
    meter_number: str | None


def newest_rows(fresh: DataFrame) -> DataFrame:
    """The readings at each meter's latest time, and at the latest for which a meter number came; few have to be looked at as a whole."""
    timed = fresh.withColumn("t", F.unix_millis("at"))
    numbered = F.when(F.col("meter_number").isNotNull(), F.col("t"))
    last = timed.groupBy("meter").agg(F.max("t").alias("last_t"), F.max(numbered).alias("number_t"))
    return (
        timed.join(F.broadcast(last), "meter")
        .where((F.col("t") == F.col("last_t")) | (F.col("t") == F.col("number_t")))
        .select(
            "meter",
            "t",
            "last_t",
            "number_t",
            "received",
            "origin",
            "meter_number",
            lake_json().alias("value"),
        )
    )


def newest_readings(fresh: DataFrame) -> dict[str, Newest]:
    """Of each meter; where several came for the same time the last one to arrive."""
    rows = newest_rows(fresh).collect()
    values: dict[str, str] = {}
    numbers: dict[str, tuple[int, str]] = {}
    for row in sorted(rows, key=lambda row: (row.received, row.origin)):
        if row.t == row.last_t:
            values[row.meter] = row.value
        if row.t == row.number_t and row.meter_number is not None:
            numbers[row.meter] = (row.t, row.meter_number)
    return {meter: Newest(value, *numbers.get(meter, (None, None))) for meter, value in values.items()}


def write_latest(
    work: Work,
    outbox: Outbox,
    cells: Mapping[str, Sequence[Cell]],
    newest: Mapping[str, Newest],
    states: dict[str, MeterState],
) -> None:
    """Store the newest reading and the state of every touched meter."""
    readings = [_latest(meter, own, newest[meter]) for meter, own in cells.items()]
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


def _latest(meter: str, own: Sequence[Cell], newest: Newest) -> Latest:
    reading = json.loads(newest.reading, parse_float=str)
    return Latest(
        meter=meter,
        at=own[-1]["last_t"],
        received=own[-1]["newest_received"],
        first_received=min(cell["received_first"] for cell in own),
        values=[reading.get(name) for name in SHOWN],
        reading=newest.reading,
        meter_number=newest.meter_number,
        number_at=newest.number_at,
    )
