"""What is known of each meter: its state for the pipeline, its latest reading, its master data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from strom.domain.silences import QuietLimits
from strom.store.profile_tables import millis, moment
from strom.store.writes import Work, texts_of


@dataclass(frozen=True, slots=True)
class MeterState:
    """Times in epoch ms. `votes` says how firmly `interval_s` is the push interval.

    `heard` is for silences: as `received`, but where the clock of a door is ahead no later than when that was taken in.
    """

    newest: int
    received: int
    interval_s: int | None
    votes: int
    heard: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What the pipeline notes of a meter beside what people enter; times in epoch ms, None where nothing is known."""

    meter_number: str | None
    number_at: int | None  # the time of the reading that told the number
    interval_s: float | None
    first_seen: int | None


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest reading of a meter as JSON text, with what the tables show of it."""

    meter: str
    at: int
    received: int
    first_received: int
    values: Sequence[Any]  # import_w, export_w, import_wh, export_wh
    reading: str
    meter_number: str | None
    number_at: int | None = None  # the time of the reading that told the number


def load_states(work: Work, meters: Iterable[str]) -> dict[str, MeterState]:
    found = work.rows(
        "SELECT s.* FROM unnest(%s::text[]) AS k(meter) CROSS JOIN LATERAL ("
        "SELECT meter, newest, received, interval_s, votes, coalesce(heard, received) FROM meter_states m WHERE m.meter = k.meter OFFSET 0) s",
        texts_of(meters),
    )
    return {meter: MeterState(*rest) for meter, *rest in found}


def load_intervals(work: Work) -> dict[str, int | None]:
    """The push interval of every meter."""
    return dict(work.rows("SELECT meter, interval_s FROM meter_states"))


def save_states(work: Work, states: dict[str, MeterState]) -> None:
    work.stage(
        "new_states",
        "LIKE meter_states",
        ((meter, s.newest, s.received, s.interval_s, s.votes, s.heard) for meter, s in states.items()),
    )
    work.execute(
        "INSERT INTO meter_states SELECT * FROM new_states ON CONFLICT (meter) DO UPDATE SET newest = excluded.newest, "
        "received = excluded.received, interval_s = excluded.interval_s, votes = excluded.votes, heard = excluded.heard"
    )


def save_latest(work: Work, readings: Sequence[Latest]) -> list[str]:
    """Keep what is newer than the stored reading; returns the meters where that was so."""
    work.stage(
        "new_latest",
        "LIKE readings_latest",
        ((r.meter, moment(r.at), moment(r.received), *r.values, r.reading) for r in readings),
    )
    changed = work.rows(
        """
        INSERT INTO readings_latest AS r SELECT * FROM new_latest ON CONFLICT (meter) DO UPDATE SET
            at = excluded.at, received = excluded.received, import_w = excluded.import_w,
            export_w = excluded.export_w, import_wh = excluded.import_wh, export_wh = excluded.export_wh,
            reading = excluded.reading
        WHERE (excluded.at, excluded.received) > (r.at, r.received) RETURNING meter
        """
    )
    return [meter for (meter,) in changed]


def load_meters(work: Work, meters: Iterable[str]) -> dict[str, Seen]:
    """What the pipeline knows of these meters, as far as it has seen them or people have entered them."""
    found = work.rows(
        "SELECT meter, meter_number, number_at, interval_s, first_seen FROM meters WHERE meter = ANY(%s)",
        texts_of(meters),
    )
    return {
        meter: Seen(number, _millis(number_at), interval, _millis(first_seen))
        for meter, number, number_at, interval, first_seen in found
    }


def save_meters(work: Work, meters: Mapping[str, Seen]) -> None:
    """What people entered stays."""
    if not meters:
        return
    work.stage(
        "new_meters",
        "meter text, meter_number text, interval_s double precision, first_seen timestamptz, number_at timestamptz",
        (
            (meter, each.meter_number, each.interval_s, _moment(each.first_seen), _moment(each.number_at))
            for meter, each in meters.items()
        ),
    )
    work.execute(
        "INSERT INTO meters (meter, meter_number, interval_s, first_seen, number_at) SELECT * FROM new_meters "
        "ON CONFLICT (meter) DO UPDATE SET meter_number = excluded.meter_number, number_at = excluded.number_at, "
        "interval_s = excluded.interval_s, first_seen = excluded.first_seen"
    )


def _millis(time: datetime | None) -> int | None:
    return None if time is None else millis(time)


def _moment(epoch_ms: int | None) -> datetime | None:
    return None if epoch_ms is None else moment(epoch_ms)


def silent_meters(work: Work, now_ms: int, limits: QuietLimits) -> list[tuple[str, int, int | None]]:
    """Meters from which nothing came for longer than this and of which it was not told, as meter, last arrival, interval."""
    found = work.rows(
        """
        SELECT meter, last, interval_s FROM (
            SELECT meter, coalesce(heard, received) AS last, interval_s, greatest(coalesce(%s * interval_s::bigint, %s), %s) * 1000 AS quiet
            FROM meter_states
        ) AS heard
        WHERE last + quiet < %s AND NOT EXISTS (
            SELECT FROM alerts a WHERE a.meter = heard.meter AND a.kind = 'silent' AND a.ended IS NULL)
        """,
        *(limits.pushes, limits.unknown_seconds, limits.least_seconds, now_ms),
    )
    return [(meter, last, interval) for meter, last, interval in found]
