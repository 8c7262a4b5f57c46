"""Whatever lies in the topic of alerts: the sender passes it over, and the alerts around it arrive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strom.settings import AlertsSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams.topics import ALERTS
from tests.conftest import settings_in
from tests.hostile import hostile, put
from tests.notify.receivers import alert, receiving, until
from tests.notify.sending import sender_settings, sending, tell

pytestmark = pytest.mark.stack


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Settings]:
    """Of its own: others' senders read all that is in the topic."""
    with Stack(settings_in(tmp_path / "home"), ["kafka", "mqtt", "postgres"]) as stack:
        yield stack.settings


def test_records_that_are_no_alerts_are_passed_over_and_the_alerts_around_them_arrive(
    servers: Settings, tmp_path: Path
) -> None:
    with receiving() as receiver:
        outlets: dict[str, dict[str, Any]] = {
            "webhook": {"url": receiver.url},
            "mqtt": {"topic": "hostile"},
            "mail": {"to": "a@b.example", "folder": tmp_path / "post", "quiet_minutes": 0},
        }
        settings = sender_settings(servers, tmp_path, "sender", **outlets)
        ever = AlertsSettings(
            sender="sender", oldest_hours=24 * 3000, keep_days=3000
        )  # also what the hostile ones tell
        settings = settings.model_copy(update={"alerts": ever})
        tell(settings, alert("first", "haus-1"))
        put(settings, ALERTS, hostile(ALERTS))
        tell(settings, alert("last", "haus-1"))
        with sending(settings) as sender:
            until(lambda: {"first.opened", "last.opened"} <= set(receiver.keys), "the alerts arrive")
            post = tmp_path / "post" / "new"
            mails = ("first.opened.eml", "last.opened.eml")
            until(lambda: all((post / name).exists() for name in mails), "the mails of both")
            assert sender.stop() == 0
        assert "is not an alert and is passed over" in sender.log
        assert "lines like the next one were left out" in sender.log or sender.log.count("passed over:") <= 6
        assert "Traceback" not in sender.log
        assert "could not be sent" not in sender.log
        assert ", restarts 0; " in sender.log
        before = sender.log
        tell(settings, alert("later", "haus-1"))
        with sending(settings) as again:
            until(lambda: "later.opened" in receiver.keys, "the one that came meanwhile")
            assert again.stop() == 0
        assert "is not an alert" not in again.log.removeprefix(before)  # they are done
