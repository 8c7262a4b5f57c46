"""Alerts and the ten-minute voltages they come from, as the tables hold them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from strom.domain.alerts import Alert
from strom.store.profile_tables import millis, moment
from strom.store.writes import Work, array_of, columns_of, texts_of

_FIELDS = "a.meter, a.kind, a.part, a.started, a.ended, a.value, a.threshold, a.severe, a.text"


@dataclass(frozen=True, slots=True)
class Scope:
    """Alerts about one thing that end, or would end, at `since` or later."""

    meter: str
    kind: str
    part: str
    since: int


@dataclass(frozen=True, slots=True)
class Window:
    """Sums and counts of the three phases over ten minutes."""

    mv: tuple[int, ...]
    samples: tuple[int, ...]


def load_alerts(work: Work, scopes: Iterable[Scope]) -> list[Alert]:
    found = work.rows(
        f"SELECT a.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) AS k(meter, kind, part, ms) "  # noqa: S608
        f"CROSS JOIN LATERAL (SELECT {_FIELDS} FROM alerts a "
        "WHERE a.meter = k.meter AND a.kind = k.kind AND a.part = k.part "
        "AND (a.ended IS NULL OR a.ended >= 'epoch'::timestamptz + k.ms * interval '1 ms') OFFSET 0) a",
        *columns_of(((scope.meter, scope.kind, scope.part, max(0, scope.since)) for scope in scopes), 4),
    )
    return [_alert(row) for row in found]


def load_open(work: Work, kind: str, meters: Iterable[str]) -> list[Alert]:
    found = work.rows(
        f"SELECT a.* FROM unnest(%s::text[]) AS k(meter) CROSS JOIN LATERAL (SELECT {_FIELDS} FROM alerts a "  # noqa: S608
        "WHERE a.meter = k.meter AND a.ended IS NULL AND a.kind = %s OFFSET 0) a",
        *(texts_of(meters), kind),
    )
    return [_alert(row) for row in found]


def all_alerts(work: Work) -> list[Alert]:
    return [_alert(row) for row in work.rows(f"SELECT {_FIELDS} FROM alerts a")]  # noqa: S608


def save_alerts(work: Work, alerts: Sequence[Alert]) -> None:
    if not alerts:
        return
    work.stage("new_alerts", "LIKE alerts", map(_values, alerts))
    work.execute(
        """
        INSERT INTO alerts SELECT * FROM new_alerts ON CONFLICT (id) DO UPDATE SET severe = excluded.severe,
            ended = excluded.ended, value = excluded.value, threshold = excluded.threshold, text = excluded.text
        """
    )


def delete_alerts(work: Work, alerts: Sequence[Alert]) -> None:
    if alerts:
        work.execute("DELETE FROM alerts WHERE id = ANY(%s)", [alert.id for alert in alerts])


def load_windows(work: Work, since: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Window]:
    found = work.rows(
        "SELECT w.* FROM unnest(%s::text[], %s::bigint[]) AS k(meter, since) CROSS JOIN LATERAL ("
        "SELECT w.meter, w.start, w.mv, w.samples FROM voltage_windows w "
        "WHERE w.meter = k.meter AND w.start >= k.since OFFSET 0) w",
        *columns_of(since, 2),
    )
    return {(meter, start): Window(tuple(mv), tuple(samples)) for meter, start, mv, samples in found}


def save_windows(work: Work, windows: dict[tuple[str, int], Window]) -> None:
    work.stage(
        "new_windows",
        "LIKE voltage_windows",
        ((*key, array_of(window.mv), array_of(window.samples)) for key, window in windows.items()),
    )
    work.execute(
        "INSERT INTO voltage_windows SELECT * FROM new_windows ON CONFLICT (meter, start) DO UPDATE "
        "SET mv = excluded.mv, samples = excluded.samples"
    )


def delete_windows(work: Work, keys: Iterable[tuple[str, int]]) -> None:
    work.execute(
        "DELETE FROM voltage_windows w USING unnest(%s::text[], %s::bigint[]) AS k(meter, start) "
        "WHERE w.meter = k.meter AND w.start = k.start",
        *columns_of(keys, 2),
    )


def _alert(row: Sequence[Any]) -> Alert:
    meter, kind, part, started, ended, *rest = row
    return Alert(meter, kind, part, millis(started), None if ended is None else millis(ended), *rest)


def _values(alert: Alert) -> tuple[object, ...]:
    ended = None if alert.ended is None else moment(alert.ended)
    return (
        alert.id, alert.meter, alert.kind, alert.severe, moment(alert.started), ended, alert.value,
        alert.threshold, alert.text, alert.part,
    )  # fmt: skip
