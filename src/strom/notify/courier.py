"""Sends what waits for one outlet, in order for each meter, until stopped; an outlet that is away is tried again.

What fails holds up its own meter only: the next attempt takes another. It knows neither Kafka nor how an outlet sends.
"""

import logging
import threading
import time

from strom.backoff import Backoff
from strom.errors import StromError
from strom.notify.counters import Sent
from strom.notify.outlet import Answer, Delivered, Later, Notice, Outlet, Refused
from strom.store.deliveries import Deliveries, Delivery
from strom.supervision import SupervisedThread

LOG = logging.getLogger("strom.alerts")
AT_ONCE = 50  # deliveries taken from the table in one go
LOOK_SECONDS = 5.0  # how soon it notices what others have put into the table
FORGET_SECONDS = 3600.0
LONGEST_PAUSE = 300.0
_DOWN = 3  # attempts in a row that failed: it is the outlet, not the alert


class Courier(SupervisedThread):
    def __init__(self, outlet: Outlet, name: str, url: str, keep_days: int) -> None:
        self._stopping = threading.Event()
        super().__init__(f"courier-{outlet.name}", self._send_until_stopped, self._stopping, LOG, self._count)
        self.counters = Sent()
        self._outlet = outlet
        self._key = name  # under which the table knows the outlet
        self._keep_days = keep_days
        self._deliveries = Deliveries(url)
        self._wake = threading.Event()
        self._backoff = Backoff(longest=LONGEST_PAUSE)  # of the outlet as a whole
        self._later: dict[
            str, tuple[float, Backoff]
        ] = {}  # meters whose first delivery failed, and until when
        self._not_before = 0.0
        self._forget_at = 0.0
        self._standing_by = False
        self._prepared = False

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    def stop(self) -> None:
        """Ask it to end after the delivery under way."""
        self._stopping.set()
        self._wake.set()

    def _send_until_stopped(self) -> None:
        trouble = Backoff()
        while not self._stopping.is_set():
            try:
                pause = self._round()
                trouble.reset()
            except StromError as error:
                pause = trouble.next()
                LOG.warning("%s: %s; looking again in %.1f s", self._outlet.name, error, pause)
            if pause > 0:
                self._outlet.rest()
                self._wake.wait(pause)
                self._wake.clear()
        self._outlet.rest()
        self._deliveries.close()

    def _count(self) -> None:
        self.counters.restarts += 1

    def _round(self) -> float:
        """Send what can be sent now; returns how long to wait before the next round."""
        if not self._prepared:
            self._deliveries.prepare()
            self._prepared = True
        if not self._deliveries.holds(self._key):
            if not self._standing_by:
                LOG.info("%s: another sender is at work; standing by", self._outlet.name)
            self._standing_by = True
            return LOOK_SECONDS
        self._standing_by = False
        self._forget(time.monotonic())
        now = time.monotonic()
        if now < self._not_before:
            return self._not_before - now
        held_up = [meter for meter, (until, _) in self._later.items() if until > now]
        batch = self._deliveries.waiting(self._key, held_up, AT_ONCE)
        for delivery in batch:
            if self._stopping.is_set() or not self._deliver(delivery):
                return 0.0
        return 0.0 if batch else self._idle()

    def _idle(self) -> float:
        now = time.monotonic()
        due = self._deliveries.next_due(self._key)
        moments = [until - now for until, _ in self._later.values() if until > now]
        if due is not None and due > 0:
            moments.append(due)
        return min([LOOK_SECONDS, *moments])

    def _deliver(self, delivery: Delivery) -> bool:
        """False if the outlet asks for a pause."""
        answer = self._send(Notice(delivery.body, delivery.state, delivery.noted, delivery.root))
        if isinstance(answer, Later):
            self._failed(delivery, answer)
            return False
        if isinstance(answer, Refused):
            self._deliveries.refused(self._key, delivery, answer.why)
            self.counters.refused += 1
            LOG.error(
                "%s: alert %s (%s) is refused: %s",
                self._outlet.name,
                delivery.alert,
                delivery.state,
                answer.why,
            )
        else:
            self._delivered(delivery, answer)
        self._recovered(delivery.meter)
        return True

    def _send(self, notice: Notice) -> Answer:
        try:
            return self._outlet.send(notice)
        except Exception as error:  # a fault of ours with one alert must not keep the others from being sent
            LOG.exception("%s: alert %s could not be sent", self._outlet.name, notice.key)
            return Later(f"{type(error).__name__}: {error}")

    def _delivered(self, delivery: Delivery, answer: Delivered) -> None:
        self._deliveries.delivered(self._key, delivery)
        self.counters.delivered += 1
        if answer.remark:
            LOG.warning("%s: alert %s: %s", self._outlet.name, delivery.alert, answer.remark)

    def _failed(self, delivery: Delivery, answer: Later) -> None:
        self.counters.tried_again += 1
        pause = self._backoff.next() if answer.after is None else max(answer.after, self._backoff.next())
        now = time.monotonic()
        own = self._later.get(delivery.meter, (0.0, Backoff(longest=LONGEST_PAUSE)))[1]
        self._later[delivery.meter] = (now + max(pause, own.next()), own)
        self._not_before = now + pause
        LOG.warning("%s: %s; trying again in %.1f s", self._outlet.name, answer.why, pause)
        self._deliveries.failed(self._key, delivery, answer.why)

    def _recovered(self, meter: str) -> None:
        self._later.pop(meter, None)
        if self._backoff.attempts >= _DOWN:  # it was the outlet: nobody has to wait any longer
            self._later.clear()
            LOG.info("%s: it takes alerts again", self._outlet.name)
        self._backoff.reset()

    def _forget(self, now: float) -> None:
        if now < self._forget_at:
            return
        self._forget_at = now + FORGET_SECONDS
        given_up, _ = self._deliveries.forget(self._key, self._keep_days)
        if given_up:
            LOG.error("%s: gave up %d that waited for %d days", self._outlet.name, given_up, self._keep_days)
