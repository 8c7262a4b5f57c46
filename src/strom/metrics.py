"""What a running part counts, told to Prometheus: a page at `/metrics`, or text for a part that serves HTTP itself.

A part keeps plain numbers in a dataclass, each field with its meaning; they are read only when somebody asks, so that
counting costs nothing on the way of a message. It knows no part in particular.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Protocol

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from strom.errors import StromError


class Counted(Protocol):
    """A dataclass whose fields were made by `counter` and `gauge`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def counter(meaning: str) -> Any:
    """A field that only grows: it becomes `strom_<part>_<name>_total`."""
    return field(default=0, metadata={"meaning": meaning, "family": CounterMetricFamily})


def gauge(meaning: str) -> Any:
    """A field that rises and falls: it becomes `strom_<part>_<name>`."""
    return field(default=0, metadata={"meaning": meaning, "family": GaugeMetricFamily})


class Metrics(Collector):
    """Watches any number of counted things; several of one part differ by their labels."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._watched: list[tuple[str, Counted, dict[str, str], Callable[[], None]]] = []

    def watch(
        self, part: str, counted: Counted, refresh: Callable[[], None] = lambda: None, **labels: str
    ) -> None:
        """`refresh` is called before its fields are read."""
        self._watched.append((part, counted, labels, refresh))

    def forget(self, counted: Counted) -> None:
        """What is no more is told no more."""
        self._watched = [each for each in self._watched if each[1] is not counted]

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Any] = {}
        for part, counted, labels, refresh in self._watched:
            refresh()
            for each in fields(counted):
                name = f"strom_{part}_{each.name}"
                family = each.metadata["family"]
                found = families.setdefault(name, family(name, each.metadata["meaning"], labels=[*labels]))
                found.add_metric([*labels.values()], getattr(counted, each.name))
        yield from families.values()

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self._registry)

    @contextmanager
    def served(self, port: int | None, host: str, setting: str) -> Iterator[None]:
        """While the block lasts, at http://host:port/metrics; without a port nowhere."""
        if port is None:
            yield
            return
        try:
            server, thread = start_http_server(port, host, self._registry)
        except OSError as error:
            raise StromError(
                f"The metrics cannot listen on {host}:{port} ({error.strerror}); set {setting} to another port."
            ) from None
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
