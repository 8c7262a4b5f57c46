"""The running sender of alerts: one intake from the topic, one courier for each outlet."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from strom.domain.notices import State
from strom.domain.reading import time_text
from strom.notify.catalogue import outlets_of, stored_name
from strom.notify.courier import Courier
from strom.notify.intake import Intake
from strom.notify.outlet import Answer, Notice
from strom.settings import Settings
from strom.supervision import SupervisedThread

LOG = logging.getLogger("strom.alerts")
REPORT_SECONDS = 300.0


class Sender:
    """`run` returns when stopped; what is under way is finished, what waits is sent by the next one."""

    def __init__(self, settings: Settings) -> None:
        outlets = outlets_of(settings)
        self._settings = settings
        self._addresses = ", ".join(f"{outlet.name} ({outlet.address})" for outlet, _ in outlets)
        self._couriers = {
            outlet.name: Courier(
                outlet, stored_name(settings, outlet), settings.postgres_url, settings.alerts.keep_days
            )
            for outlet, _ in outlets
        }
        wanted = {stored_name(settings, outlet): wishes for outlet, wishes in outlets}
        self._intake = Intake(settings, wanted, self._wake)
        self._ended = threading.Event()

    def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        def ready() -> None:
            LOG.info("sending alerts from %s to %s", self._settings.kafka_bootstrap, self._addresses)
            on_ready()

        SupervisedThread("report", self._report_now_and_then, self._ended, LOG).start()
        for courier in self._couriers.values():  # what waits is sent also while Kafka is away
            courier.start()
        try:
            self._intake.run(ready)
        finally:
            self._ended.set()
            for courier in self._couriers.values():
                courier.stop()
            for courier in self._couriers.values():
                courier.join()
            LOG.info("sender stopped: %s", self)

    def stop(self) -> None:
        self._intake.stop()
        for courier in self._couriers.values():
            courier.stop()

    def __str__(self) -> str:
        sent = "".join(f"; {name}: {courier.counters}" for name, courier in self._couriers.items())
        return f"alerts: {self._intake.counters}{sent}"

    def _wake(self) -> None:
        for courier in self._couriers.values():
            courier.wake()

    def _report_now_and_then(self) -> None:
        while not self._ended.wait(REPORT_SECONDS):
            LOG.info("%s", self)


def send_test(settings: Settings) -> list[tuple[str, str, Answer]]:
    """One try at each outlet with an alert that says it is a test; name, address and answer of each."""
    now = datetime.now(UTC)
    at_ms = int(now.timestamp() * 1000)
    alert = {
        "v": 1,
        "id": f"test-{at_ms}",
        "meter": "test",
        "kind": "test",
        "severe": False,
        "started": time_text(at_ms),
        "threshold": 0,
        "text": "Strom can send alerts here.",
    }
    answers: list[tuple[str, str, Answer]] = []
    for outlet, _ in outlets_of(settings):
        answers.append((outlet.name, outlet.address, outlet.send(Notice(alert, State.TEST, now))))
        outlet.rest()
    return answers
