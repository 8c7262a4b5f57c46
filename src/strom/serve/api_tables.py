"""The part of the API that answers from Postgres: quarter-hours and alerts; a 503 when that is away."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query

from strom.domain.alerts import KINDS
from strom.domain.tariffs import TARIFFS
from strom.serve import answers, days, models
from strom.serve.service import Service
from strom.store.reads import AlertFilter

YEARS = range(2000, 2101)
AWAY: dict[int | str, dict[str, object]] = {503: {"model": models.Problem}}
WantedDay = Annotated[
    date | None, Query(description="A local day, like 2026-11-15; today without.", examples=["2026-11-15"])
]

WantedUnit = Annotated[models.Unit, Query(description="How long a period is.")]
FirstDay = Annotated[
    date | None,
    Query(description="Periods that begin on this local day or later; some before `last` without."),
]
LastDay = Annotated[
    date | None, Query(description="Periods that begin on this local day or before; today without.")
]
WantedTariff = Annotated[
    int | None,
    Query(
        ge=TARIFFS[0],
        le=TARIFFS[-1],
        description="Of this tariff only, where the meter counts by tariff (OBIS 1.8.1 to 1.8.4 and 2.8.1 to 2.8.4); the total without.",
    ),
]
# How far back an answer goes without `first`, and how many days may be asked for at once.
DAYS_BEFORE = {"hour": 1, "day": 30, "week": 90, "month": 366, "year": 3653}
MOST_DAYS = {"hour": 31, "day": 1100, "week": 3653, "month": 11_000, "year": 40_000}


def table_routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["tables"], responses=AWAY)

    @router.get("/fleet/quarter-hours", summary="The fleet's quarter-hours of a local day")
    def fleet_quarter_hours(day: WantedDay = None) -> models.Day:
        return _day(service, day, None)

    @router.get("/meters/{meter:path}/quarter-hours", summary="A meter's quarter-hours of a local day")
    def meter_quarter_hours(meter: str, day: WantedDay = None, tariff: WantedTariff = None) -> models.Day:
        return _day(service, day, _name(meter), tariff)

    @router.get("/fleet/sums", summary="The fleet's energy by local hour, day, week, month or year")
    def fleet_sums(unit: WantedUnit = "day", first: FirstDay = None, last: LastDay = None) -> models.Sums:
        return _sums(service, unit, (first, last), None)

    @router.get(
        "/meters/{meter:path}/sums", summary="A meter's energy by local hour, day, week, month or year"
    )
    def meter_sums(
        meter: str,
        unit: WantedUnit = "day",
        first: FirstDay = None,
        last: LastDay = None,
        tariff: WantedTariff = None,
    ) -> models.Sums:
        return _sums(service, unit, (first, last), _name(meter), tariff)

    @router.get("/alerts", summary="Alerts, page by page")
    def alerts(
        state: Annotated[Literal["open", "all"], Query(description="Only those that last, or all.")] = "open",
        meter: Annotated[str | None, Query(description="Of this meter only.")] = None,
        kind: Annotated[str | None, Query(description=f"Of this kind only: {', '.join(KINDS)}.")] = None,
        sort: Annotated[
            Literal["-started", "started", "severe"],
            Query(
                description="The newest first, the oldest first, or severe ones first and then the newest."
            ),
        ] = "-started",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> models.AlertPage:
        wanted = AlertFilter(state == "open", _name(meter) if meter else None, _name(kind) if kind else None)
        total, rows = service.reads.alerts(wanted, limit, offset, sort)
        return models.AlertPage(total=total, offset=offset, items=[answers.alert(row) for row in rows])

    return router


def _day(service: Service, wanted: date | None, meter: str | None, tariff: int | None = None) -> models.Day:
    now = datetime.fromtimestamp(service.now_ms / 1000, UTC)
    day = wanted or days.day_of(now, service.zone)
    if day.year not in YEARS:
        raise HTTPException(422, f"day is {day}: ask for one between {YEARS[0]} and {YEARS[-1]}.")
    start, end = days.bounds(day, service.zone)
    rows = service.reads.quarter_hours(start, end, meter, tariff)
    return answers.day(day, service.zone, now, rows, service.reads.first_slot(meter, tariff))


def _sums(
    service: Service,
    unit: models.Unit,
    span: tuple[date | None, date | None],
    meter: str | None,
    tariff: int | None = None,
) -> models.Sums:
    today = days.day_of(datetime.fromtimestamp(service.now_ms / 1000, UTC), service.zone)
    last = span[1] or today
    first = span[0] or last - timedelta(days=DAYS_BEFORE[unit])
    for day in (first, last):
        if day.year not in YEARS:
            raise HTTPException(
                422, f"{day} is too far away: ask for days between {YEARS[0]} and {YEARS[-1]}."
            )
    if first > last:
        raise HTTPException(422, f"first is {first}, after last, which is {last}: exchange them.")
    if (last - first).days > MOST_DAYS[unit]:
        raise HTTPException(
            422, f"{first} to {last} is too long by the {unit}: ask for {MOST_DAYS[unit]} days at most."
        )
    bounds = (days.bounds(first, service.zone)[0], days.bounds(last, service.zone)[1])
    rows = service.reads.sums(unit, bounds, service.zone.key, meter, tariff)
    return models.Sums(unit=unit, timezone=service.zone.key, items=[models.Sum(**row) for row in rows])


def _name(text: str) -> str:
    if "\0" in text:
        raise HTTPException(422, "A name cannot hold a NUL character; leave it out.")
    return text
