"""The part of the API that answers from Postgres: quarter-hours and alerts; a 503 when that is away."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query

from strom.serve import answers, days, models
from strom.serve.service import Service
from strom.store.reads import AlertFilter

YEARS = range(2000, 2101)
AWAY: dict[int | str, dict[str, object]] = {503: {"model": models.Problem}}
WantedDay = Annotated[
    date | None, Query(description="A local day, like 2026-11-15; today without.", examples=["2026-11-15"])
]


def table_routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["tables"], responses=AWAY)

    @router.get("/fleet/quarter-hours", summary="The fleet's quarter-hours of a local day")
    def fleet_quarter_hours(day: WantedDay = None) -> models.Day:
        return _day(service, day, None)

    @router.get("/meters/{meter:path}/quarter-hours", summary="A meter's quarter-hours of a local day")
    def meter_quarter_hours(meter: str, day: WantedDay = None) -> models.Day:
        return _day(service, day, _name(meter))

    @router.get("/alerts", summary="Alerts, the newest first")
    def alerts(
        state: Annotated[Literal["open", "all"], Query(description="Only those that last, or all.")] = "open",
        meter: Annotated[str | None, Query(description="Of this meter only.")] = None,
        kind: Annotated[str | None, Query(description="Of this kind only: silent, voltage, …")] = None,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> models.AlertPage:
        wanted = AlertFilter(state == "open", _name(meter) if meter else None, _name(kind) if kind else None)
        total, rows = service.reads.alerts(wanted, limit, offset)
        return models.AlertPage(total=total, offset=offset, items=[answers.alert(row) for row in rows])

    return router


def _day(service: Service, wanted: date | None, meter: str | None) -> models.Day:
    now = datetime.fromtimestamp(service.now_ms / 1000, UTC)
    day = wanted or days.day_of(now, service.zone)
    if day.year not in YEARS:
        raise HTTPException(422, f"day is {day}: ask for one between {YEARS[0]} and {YEARS[-1]}.")
    start, end = days.bounds(day, service.zone)
    rows = service.reads.quarter_hours(start, end, meter)
    return answers.day(day, service.zone, now, rows, service.reads.first_slot(meter))


def _name(text: str) -> str:
    if "\0" in text:
        raise HTTPException(422, "A name cannot hold a NUL character; leave it out.")
    return text
