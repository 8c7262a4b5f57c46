"""The part of the API that answers from memory: the fleet, the meters, their curves, the stream of events."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import Response

from strom.serve import answers, models
from strom.serve.curve import WINDOW_MS
from strom.serve.events import Client, EventStream
from strom.serve.live import MeterState
from strom.serve.service import Service

MOST_METERS_PER_STREAM = 200
Minutes = Annotated[int, Query(ge=1, le=WINDOW_MS // 60_000, description="How far back the curve goes.")]
Sort = Literal["name", "power", "-power", "seen", "-seen"]
NOT_FOUND: dict[int | str, dict[str, object]] = {404: {"model": models.Problem}}


def live_routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["live"])

    @router.get("/fleet", summary="All meters now")
    async def fleet() -> models.Fleet:
        return service.fleet()

    @router.get("/fleet/curve", summary="The fleet's live curve")
    async def fleet_curve(minutes: Minutes = 60) -> models.FleetCurve:
        now = service.now_ms
        return models.FleetCurve(points=service.state.fleet_points(now - minutes * 60_000, now))

    @router.get("/meters", summary="The meters, searched, sorted, page by page")
    async def meters(
        q: Annotated[
            str, Query(max_length=200, description="Part of the name, the meter number or the area.")
        ] = "",
        sort: Annotated[Sort, Query(description="A minus turns the order round.")] = "name",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> models.MeterPage:
        found = _sorted(service, _matching(service, q), sort)
        page = [_summary(service, state) for state in found[offset : offset + limit]]
        return models.MeterPage(total=len(found), offset=offset, items=page)

    @router.get("/meters/{meter:path}/curve", summary="A meter's live curve", responses=NOT_FOUND)
    async def meter_curve(meter: str, minutes: Minutes = 60) -> models.MeterCurve:
        _known(service, meter)
        now = service.now_ms
        return models.MeterCurve(points=service.state.meter_points(meter, now - minutes * 60_000, now))

    @router.get(
        "/live",
        summary="Server-sent events",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {}}, "description": "An endless stream."}},
    )
    async def live(
        meter: Annotated[
            list[str] | None, Query(description="Meters whose readings to send; * is every one.")
        ] = None,
    ) -> EventStream:
        """`fleet` once a second, `reading` for the meters asked for, `alert` when one opens, changes,
        ends or is withdrawn, `alerts` instead when very many do at once, `health` when a line is lost or back or
        something in the background fails or works again, and a comment as a sign of life. Nothing is repeated after a
        break: whoever comes back asks the other addresses for the present state."""
        if meter and len(meter) > MOST_METERS_PER_STREAM:
            raise HTTPException(422, f"meter is given {len(meter)} times; ask for * to hear every meter.")
        first = [
            service.hub.frame("health", service.health().model_dump(mode="json")),
            service.hub.frame("fleet", service.fleet_event()),
        ]
        return EventStream(service.hub, Client(meter or ()), first)

    @router.get("/health", summary="What is connected")
    async def health() -> models.Health:
        return service.health()

    return router


def meter_route(service: Service) -> APIRouter:
    """Apart, because its path takes every name: it must come after the longer ones."""
    router = APIRouter(tags=["live"])

    @router.get("/meters/{meter:path}", summary="One meter and its newest reading", responses=NOT_FOUND)
    async def one_meter(meter: str) -> models.Meter:
        return meter_answer(service, meter)

    return router


def meter_answer(service: Service, name: str) -> models.Meter:
    state = _known(service, name)
    return answers.meter(
        state, service.now_ms, service.master.get(name, {}), service.alerts.open_by_meter[name]
    )


def _known(service: Service, name: str) -> MeterState:
    state = service.state.meters.get(name)
    if state is None:
        raise HTTPException(404, f"There is no meter named {name!r}; /api/v1/meters lists those that are.")
    return state


def _summary(service: Service, state: MeterState) -> models.MeterSummary:
    master = service.master.get(state.name, {})
    return answers.summary(state, service.now_ms, master, service.alerts.open_by_meter[state.name])


def _matching(service: Service, text: str) -> list[MeterState]:
    """In the order of their names."""
    wanted = text.strip().casefold()
    known = service.state.by_name()
    return [state for state in known if wanted in _searched(service, state)] if wanted else known


def _searched(service: Service, state: MeterState) -> str:
    area = service.master.get(state.name, {}).get("area") or ""
    return f"{state.name}\n{state.meter_number}\n{area}".casefold()


def _sorted(service: Service, states: list[MeterState], sort: Sort) -> list[MeterState]:
    now = service.now_ms
    if sort.endswith("power"):
        return sorted(states, key=lambda state: _power_rank(state, now, -1 if sort.startswith("-") else 1))
    if sort.endswith("seen"):
        return sorted(states, key=lambda state: state.received_ms, reverse=sort.startswith("-"))
    return states


def _power_rank(state: MeterState, now_ms: int, sign: int) -> tuple[bool, float]:
    power = state.power(now_ms)
    return (True, 0.0) if power is None else (False, sign * power.net_w)
