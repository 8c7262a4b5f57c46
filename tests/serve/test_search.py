"""Meters are found by what people know of them."""

import asyncio

import httpx
from fastapi import FastAPI

from strom.serve.api_live import live_routes
from strom.serve.service import Service
from strom.settings import Settings
from tests.serve.feeder import reading


def test_a_meter_is_found_by_name_number_and_area() -> None:
    service = Service(Settings())
    for name, number in (("haus-1", "77"), ("haus-2", "88")):
        service.state.add(reading(name, meter_number=number))
    service.master = {"haus-2": {"meter": "haus-2", "area": "Nord-West", "tariff": None}}
    app = FastAPI()
    app.include_router(live_routes(service))

    def found(text: str) -> list[tuple[str, str | None]]:
        items = asyncio.run(_ask(app, text)).json()["items"]
        return [(item["meter"], item["area"]) for item in items]

    assert found("HAUS-") == [("haus-1", None), ("haus-2", "Nord-West")]
    assert found("77") == [("haus-1", None)]
    assert found("nord") == [("haus-2", "Nord-West")]
    assert found("süd") == []


async def _ask(app: FastAPI, text: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as client:
        return await client.get("/meters", params={"q": text})
