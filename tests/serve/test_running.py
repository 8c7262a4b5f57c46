"""Starting, stopping and going on when Kafka or Postgres are away."""

import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from strom.errors import StromError
from strom.serve.assets import Assets
from strom.settings import KafkaSettings, PageSettings, PostgresSettings, Settings
from strom.store.schema import connect
from tests.serve.running import at_port, free_port, serving, start_serve
from tests.waiting import until


def nowhere(home: Path) -> Settings:
    """Settings whose servers do not exist, and a free port for the page."""
    free = [free_port() for _ in range(3)]
    return Settings(
        home=home,
        page=PageSettings(port=free[0]),
        kafka=KafkaSettings(bootstrap=f"127.0.0.1:{free[1]}"),
        postgres=PostgresSettings(url=f"postgresql://strom@127.0.0.1:{free[2]}/strom"),
    )


@pytest.mark.stack
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_with_code_0_though_a_page_is_open(tmp_path: Path, number: signal.Signals) -> None:
    with (
        serving(nowhere(tmp_path)) as page,
        page.client.stream("GET", f"{page.address}/api/v1/live") as answer,
    ):
        next(answer.iter_lines())
        page.process.send_signal(number)
        output, errors = page.process.communicate(timeout=60)
        assert page.process.returncode == 0, errors
        assert "Traceback" not in output + errors


@pytest.mark.stack
def test_without_its_servers_the_page_comes_up_and_says_what_is_away(tmp_path: Path) -> None:
    with serving(nowhere(tmp_path)) as page:
        assert page.get("/").status_code == 200
        assert page.get("/api/v1/fleet").json()["net_w"] is None
        answer = page.get("/api/v1/fleet/quarter-hours")
        assert answer.status_code == 503
        assert "Postgres" in answer.json()["error"]
        until(lambda: page.get("/api/v1/health").json()["kafka"]["state"] == "lost")
        health = page.get("/api/v1/health").json()
        assert health["status"] == "degraded"
        assert health["kafka"]["reason"]


@pytest.mark.stack
def test_a_row_that_is_no_reading_does_not_keep_the_page_from_its_tables(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    with connect(stack.postgres_url) as connection:
        query = "INSERT INTO readings_latest (meter, at, received, reading) VALUES (%s, now(), now(), '{\"at\": 2}')"
        connection.execute(query, (unique("foreign"),))
    with serving(at_port(stack, free_port(), tmp_path)) as page:
        until(lambda: page.get("/api/v1/health").json()["status"] == "ok")
        assert page.get("/api/v1/health").json()["postgres"]["state"] == "connected"
        assert page.get("/api/v1/fleet").status_code == 200


@pytest.mark.stack
def test_it_announces_itself_only_when_it_answers(tmp_path: Path) -> None:
    settings = nowhere(tmp_path)
    with serving(settings) as page:
        announced = settings.home / "run" / "serve.ready"
        assert int(announced.read_text()) == page.process.pid
        assert httpx.get(f"{page.address}/api/v1/health").status_code == 200


@pytest.mark.stack
def test_a_port_in_use_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    settings = nowhere(tmp_path)
    with socket.create_server(("127.0.0.1", settings.page.port)):
        process = start_serve(settings)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"Port {settings.page.port}" in errors
    assert "--port" in errors
    assert "Traceback" not in output + errors


def test_a_missing_library_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(StromError, match="make setup"):
        Assets(tmp_path)


def test_a_damaged_library_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "chart.js-4.5.1.jar").write_bytes(b"not a jar")
    with pytest.raises(StromError, match="delete it"):
        Assets(tmp_path)
