"""The description tells of every address that there is, with its methods, and of no other; so does the page for people."""

import asyncio
import re
from pathlib import Path

from strom.ingest.gateway.openapi import description
from strom.ingest.gateway.routes import ANYBODY, Route
from strom.ingest.gateway.run import Gateway
from strom.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "gateway.md"


async def routes_of_a_gateway() -> tuple[Route, ...]:
    return Gateway(Settings()).routes


ROUTES = asyncio.run(routes_of_a_gateway())


def test_every_route_is_described_with_its_methods_and_whether_it_needs_a_password() -> None:
    described = {
        (path, method.upper(), call.get("security") == [])
        for path, calls in description()["paths"].items()
        for method, call in calls.items()
    }
    assert described == {
        (route.path, method, route.right is ANYBODY) for route in ROUTES for method in route.methods
    }


def test_no_two_routes_have_the_same_first_part_and_length() -> None:
    shapes = {(route.path.split("/")[1], route.path.count("/")) for route in ROUTES}
    assert len(shapes) == len(ROUTES)


def test_the_page_names_every_address() -> None:
    documented = set(re.findall(r"^\| `[A-Z|\\]+ (/[^`?]*)", PAGE.read_text(), re.MULTILINE))
    assert documented == {route.path for route in ROUTES}
