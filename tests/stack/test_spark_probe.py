"""A Spark daemon counts as ready when it can be asked, not as soon as something answers at its port."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from strom.settings import Settings, SparkSettings
from strom.stack.part import NotReadyError
from strom.stack.spark import SparkMaster, SparkWorker


class _PageForPeople(BaseHTTPRequestHandler):
    """What a daemon that is starting serves under every address."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><html><body>Spark Master</body></html>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _PageForPeople) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_daemon_that_serves_only_its_page_for_people_is_not_ready(port: int, tmp_path: Path) -> None:
    master = SparkMaster(Settings(home=tmp_path, spark=SparkSettings(port=port, ui_port=port)))
    with pytest.raises(NotReadyError, match="not answer in JSON yet"):
        master.probe(None)
    worker = SparkWorker(Settings(home=tmp_path, spark=SparkSettings(port=port, ui_port=port - 1)))
    with pytest.raises(NotReadyError, match="not answer in JSON yet"):
        worker.probe(None)
