"""Starts the page as users do: `strom serve` in a process of its own."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from strom.settings import PageSettings, Settings

ANSWER_SECONDS = 60


@dataclass
class Page:
    """A running server."""

    address: str
    process: subprocess.Popen[str]
    client: httpx.Client

    def get(self, path: str, **query: str | int) -> httpx.Response:
        return self.client.get(f"{self.address}{path}", params=query or None)


def start_serve(settings: Settings) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "strom", "serve"],
        env=settings.child_environment(),
        cwd=settings.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(settings: Settings) -> Iterator[Page]:
    """A server that has answered its first request; stopped at the end."""
    settings.home.mkdir(parents=True, exist_ok=True)
    process = start_serve(settings)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert "The page is at" in line, process.communicate()[1]
        with httpx.Client(timeout=ANSWER_SECONDS) as client:
            yield Page(f"http://127.0.0.1:{settings.page.port}", process, client)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=ANSWER_SECONDS)


def at_port(settings: Settings, port: int, home: Path) -> Settings:
    page = PageSettings(port=port)
    kafka = settings.kafka.model_copy(update={"bootstrap": settings.kafka_bootstrap})
    postgres = settings.postgres.model_copy(update={"url": settings.postgres_url})
    return settings.model_copy(update={"page": page, "home": home, "kafka": kafka, "postgres": postgres})


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
