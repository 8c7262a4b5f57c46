"""Turns the live state and rows of the tables into the shapes of the API; asks nobody and changes nothing."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from strom.serve import days, models
from strom.serve.curve import Power
from strom.serve.live import FleetNow, MeterState

Row = Mapping[str, Any]

# Below this a household counts as balanced: meters tell whole watts.
_BALANCED_W = 0.5


def moment(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def direction(net_w: float | None) -> models.Direction | None:
    if net_w is None:
        return None
    if abs(net_w) < _BALANCED_W:
        return "balanced"
    return "drawing" if net_w > 0 else "feeding-in"


def fleet(now: FleetNow, open_alerts: int) -> models.Fleet:
    return models.Fleet(
        at=moment(now.at_ms),
        net_w=now.net_w,
        import_w=now.import_w,
        export_w=now.export_w,
        direction=direction(now.net_w),
        meters=now.meters,
        live=now.live,
        drawing=now.drawing,
        feeding=now.feeding,
        open_alerts=open_alerts,
        published=now.published_ms,
    )


def summary(state: MeterState, now_ms: int, master: Row, open_alerts: int) -> models.MeterSummary:
    return models.MeterSummary(**_summary_fields(state, now_ms, master, open_alerts))


def meter(state: MeterState, now_ms: int, master: Row, open_alerts: int) -> models.Meter:
    return models.Meter(
        **_summary_fields(state, now_ms, master, open_alerts),
        reading=dict(state.reading),
        published=state.published_ms,
        tariff=master.get("tariff"),
        contract=master.get("contract"),
    )


def reading_event(state: MeterState, now_ms: int) -> dict[str, Any]:
    """A reading as it goes to open pages."""
    return _power_fields(state.power(now_ms)) | {
        "meter": state.name,
        "at_ms": state.at_ms,
        "received_ms": state.received_ms,
        "published": state.published_ms,
        "interval_s": _seconds(state.interval_ms),
        "points": state.curve.tail(now_ms),
        "reading": state.reading,
    }


def day(
    wanted: date, zone: ZoneInfo, now: datetime, rows: Iterable[Row], first: datetime | None
) -> models.Day:
    """All slots of a local day, those without a row empty."""
    found = {row["start"]: row for row in rows}
    slots = [_slot(start, found.get(start), now) for start in days.slots(wanted, zone)]
    return models.Day(
        day=wanted,
        today=days.day_of(now, zone),
        first_day=days.day_of(first, zone) if first else None,
        timezone=zone.key,
        import_wh=_sum(slot.import_wh for slot in slots),
        export_wh=_sum(slot.export_wh for slot in slots),
        slots=slots,
    )


def alert(row: Row) -> models.Alert:
    return models.Alert(**row)


def _summary_fields(state: MeterState, now_ms: int, master: Row, open_alerts: int) -> dict[str, Any]:
    return _power_fields(state.power(now_ms)) | {
        "meter": state.name,
        "live": state.is_live(now_ms),
        "at": moment(state.at_ms) if state.at_ms else None,
        "received": moment(state.received_ms) if state.received_ms else None,
        "interval_s": _seconds(state.interval_ms),
        "meter_number": state.meter_number or master.get("meter_number"),
        "area": master.get("area"),
        "open_alerts": open_alerts,
    }


def _power_fields(power: Power | None) -> dict[str, Any]:
    if power is None:
        return {"net_w": None, "import_w": None, "export_w": None, "direction": None}
    return {
        "net_w": power.net_w,
        "import_w": power.import_mw / 1000,
        "export_w": power.export_mw / 1000,
        "direction": direction(power.net_w),
    }


def _slot(start: datetime, row: Row | None, now: datetime) -> models.Slot:
    known = {key: value for key, value in (row or {}).items() if key != "start" and value is not None}
    return models.Slot(start=start, in_progress=start <= now < start + days.SLOT, future=start > now, **known)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 3) if known else None


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
