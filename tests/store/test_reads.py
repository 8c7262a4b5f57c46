"""The questions of the page to a real Postgres: what cannot be asked, and a server that does not answer."""

import psycopg
import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.store.connection import connect
from strom.store.reads import Reads

pytestmark = pytest.mark.stack


def test_what_the_driver_cannot_send_is_told_at_once_and_costs_no_connection(
    stack: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Reads(stack.postgres_url)
    reads.latest_readings([])
    opened: list[str] = []
    monkeypatch.setattr("strom.store.reads.connect", lambda url, *_, **__: opened.append(url))
    with pytest.raises(StromError, match="did not answer the question"):
        reads.latest_readings(["a\0b"])
    assert opened == []
    reads.close()


def test_a_statement_that_takes_too_long_is_ended_by_the_server(stack: Settings) -> None:
    with (
        pytest.raises(psycopg.errors.QueryCanceled),
        connect(stack.postgres_url, statement_seconds=0.2) as connection,
    ):
        connection.execute("SELECT pg_sleep(60)")


def test_each_connection_notices_a_server_that_vanishes_unless_the_url_says_otherwise(
    stack: Settings,
) -> None:
    with connect(stack.postgres_url) as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == "30000"
        assert connection.info.get_parameters()["keepalives_idle"] == "15"
    with connect(f"{stack.postgres_url}?tcp_user_timeout=5000") as connection:
        assert connection.info.get_parameters()["tcp_user_timeout"] == "5000"
