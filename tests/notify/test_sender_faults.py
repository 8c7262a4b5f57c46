"""A fault of ours in the sender of alerts: it is logged, counted, and what was meant to be sent is sent."""

import logging
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from strom.domain.notices import Told
from strom.notify.intake import Intake
from strom.notify.sender import Sender
from strom.restart_record import RestartRecord
from strom.settings import Settings
from strom.stack.ready import announce
from strom.stack.state import status
from strom.store.deliveries import Deliveries, Delivery
from tests.notify.receivers import alert, receiving, until
from tests.notify.sending import sender_settings, tell

pytestmark = pytest.mark.stack


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often each of them fails still."""
    left = {"courier": 2, "intake": 2}

    def fail(which: str) -> None:
        if left[which]:
            left[which] -= 1
            raise TypeError(f"injected into {which}")

    def waiting(deliveries: Deliveries, *given: Any) -> list[Delivery]:
        fail("courier")
        return looked(deliveries, *given)

    def note(intake: Intake, told: Told) -> None:
        fail("intake")
        noted(intake, told)

    looked, noted = Deliveries.waiting, Intake._note
    monkeypatch.setattr(Deliveries, "waiting", waiting)
    monkeypatch.setattr(Intake, "_note", note)
    return left


def test_a_courier_and_an_intake_that_fail_begin_again_and_lose_nothing(
    stack: Settings,
    tmp_path: Path,
    unique: Any,
    faults: dict[str, int],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = RestartRecord()
    monkeypatch.setattr("strom.supervision.RESTARTS", record)
    monkeypatch.setattr("strom.notify.intake.RESTARTS", record)
    caplog.set_level(logging.INFO, "strom.alerts")
    meter = unique("haus")
    with receiving() as receiver:
        settings = sender_settings(
            stack, tmp_path, unique("sender"), webhook={"url": receiver.url, "meters": meter}
        )
        record.keep(settings.home, "alerts")
        announce(settings.home, "alerts")
        ready, sender = Event(), Sender(settings)
        thread = Thread(target=sender.run, args=(ready.set,))
        thread.start()
        try:
            assert ready.wait(60)
            tell(settings, alert(f"{meter}-1", meter))
            until(lambda: receiver.keys == [f"{meter}-1.opened"], "the alert arrives")
        finally:
            sender.stop()
            thread.join()
    told = until(lambda: status_of_background(settings, 4), "`strom status` tells of four restarts")
    assert "TypeError: injected into " in told["error"]
    assert faults == {"courier": 0, "intake": 0}
    assert "courier-webhook failed (TypeError: injected into courier); it is started again in" in caplog.text
    assert "following the alerts failed (TypeError: injected into intake); it is started again" in caplog.text
    assert str(sender).count("restarts 2") == 2


def status_of_background(settings: Settings, restarts: int) -> Any:
    told = status(settings)["alerts"].get("background", {})
    return told if told.get("restarts") == restarts else None
