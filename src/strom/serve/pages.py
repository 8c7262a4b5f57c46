"""The HTML pages and their files. A page carries what it shows first, so one response draws it."""

import json
from typing import Any

from fastapi import APIRouter, HTTPException
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from strom.serve.api_live import meter_answer
from strom.serve.assets import Assets
from strom.serve.service import Service

FIRST_MINUTES = 60
ALERTS_SHOWN = 100  # the page asks for more when somebody wants to see them


def page_routes(service: Service, assets: Assets) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def fleet_page() -> Response:
        now = service.now_ms
        points = service.state.fleet_points(now - FIRST_MINUTES * 60_000, now)
        return _page(assets, _first(service) | {"points": points})

    @router.get("/meters/{meter:path}")
    async def meter_page(meter: str) -> Response:
        if meter not in service.state.meters:
            # The page says so itself, and finds the meter as soon as it sends.
            return _page(assets, _first(service, meter) | {"meter": None, "points": []}, status=404)
        now = service.now_ms
        points = service.state.meter_points(meter, now - FIRST_MINUTES * 60_000, now)
        known = meter_answer(service, meter).model_dump(mode="json")
        return _page(assets, _first(service, meter) | {"meter": known, "points": points})

    @router.get("/docs")
    async def docs() -> Response:
        return HTMLResponse(assets.text("docs.html"), headers={"Cache-Control": "no-cache"})

    @router.get("/metrics")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @router.get("/favicon.ico")
    async def favicon(request: Request) -> Response:
        return _asset(assets, "favicon.svg", request)

    @router.get("/static/{version}/{name:path}")
    async def own_file(version: str, name: str, request: Request) -> Response:
        return _asset(assets, name, request)

    @router.get("/library/{library}/{version}/{name:path}")
    def library_file(library: str, version: str, name: str, request: Request) -> Response:
        found = assets.libraries.get(library)
        asset = found.find(name) if found and found.version == version else None
        if asset is None:
            raise HTTPException(404, f"There is no file {name!r} here.")
        return asset.response(request)

    return router


def _asset(assets: Assets, name: str, request: Request) -> Response:
    asset = assets.own(name)
    if asset is None:
        raise HTTPException(404, f"There is no file {name!r} here.")
    return asset.response(request)


def _first(service: Service, meter: str | None = None) -> dict[str, Any]:
    return {
        "now": service.now_ms,
        "timezone": service.zone.key,
        "limits": service.limits(meter),
        "fleet": service.fleet().model_dump(mode="json"),
        "health": service.health().model_dump(mode="json"),
        "alerts": [alert.model_dump(mode="json") for alert in service.alerts.open(meter)[:ALERTS_SHOWN]],
    }


def _page(assets: Assets, first: dict[str, Any], status: int = 200) -> Response:
    # In a script element only `<` can end the data early.
    data = json.dumps(first, separators=(",", ":")).replace("<", "\\u003c")
    html = assets.text("index.html").replace("{{first}}", data)
    return HTMLResponse(html, status_code=status, headers={"Cache-Control": "no-store"})
