"""The questions of the page to a real Postgres: what cannot be asked, and a server that does not answer."""

import pytest

from strom.errors import StromError
from strom.settings import Settings
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
