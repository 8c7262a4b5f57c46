"""Every address of the gateway: its path, its methods, what right it needs and who answers."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from strom.ingest.gateway.answers import Answer
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.produce_calls import ProduceCalls
from strom.ingest.gateway.read_calls import ReadCalls
from strom.ingest.gateway.rights import CONSUME, PRODUCE
from strom.ingest.gateway.shown_calls import ShownCalls

Handler = Callable[[Call], Awaitable[Answer]]
ANYBODY, ANY_USER = None, ""


class Route(NamedTuple):
    path: str
    methods: tuple[str, ...]
    right: str | None  # ANYBODY needs no password, ANY_USER no right in particular
    handler: Handler


_EITHER = ("GET", "POST")


def routes(produce: ProduceCalls, read: ReadCalls, show: ShownCalls) -> tuple[Route, ...]:
    return (
        Route("/produce/{topic}/{message}", ("GET",), PRODUCE, produce.in_path),
        Route("/produce/{topic}", _EITHER, PRODUCE, produce.in_body),
        Route("/produce", _EITHER, PRODUCE, produce.with_topics),
        Route("/webhook", ("POST",), PRODUCE, produce.webhook),
        Route("/fetch", _EITHER, CONSUME, read.fetch),
        Route("/consume/{group}/{instance}/{topic}", _EITHER, CONSUME, read.consume),
        Route("/commit/{group}/{instance}", _EITHER, CONSUME, read.commit),
        Route("/committed/{group}/{instance}", _EITHER, CONSUME, read.committed),
        Route("/offsets/{moment}", _EITHER, CONSUME, read.offsets),
        Route("/delete-consumer/{group}/{instance}", ("POST", "DELETE"), CONSUME, read.delete_consumer),
        Route("/topics", ("GET",), ANY_USER, read.topics),
        Route("/consumers", ("GET",), CONSUME, read.consumers),
        Route("/health", ("GET",), ANYBODY, show.health),
        Route("/metrics", ("GET",), ANYBODY, show.metrics),
        Route("/openapi.json", ("GET",), ANYBODY, show.openapi),
    )


class Router:
    """Finds a route by the first part of the path and how many parts there are: no two share both."""

    def __init__(self, table: tuple[Route, ...]) -> None:
        self._by_shape = {(parts[0], len(parts)): route for route in table for parts in [_parts(route)]}

    def find(self, segments: list[bytes]) -> Route | None:
        found = self._by_shape.get((segments[0], len(segments)))
        return found if found is not None and all(segments) else None


def _parts(route: Route) -> list[bytes]:
    return route.path.encode()[1:].split(b"/")
