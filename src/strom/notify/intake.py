"""Follows the topic of alerts and notes for each outlet what it should hear; sends nothing itself.

A record's place in the topic is committed after its news are in the table: a crash in between reads it again, and
the table knows what it has.
"""

import json
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import NoReturn

from strom.backoff import Backoff
from strom.domain.notices import NotAnAlertError, Told, Wishes, news, read_alert
from strom.errors import StromError
from strom.notify.counters import Taken
from strom.rate_limited_log import RateLimitedLog
from strom.restart_record import RESTARTS
from strom.settings import Settings
from strom.store.deliveries import Deliveries
from strom.streams.admin import ensure_contract_topics
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from strom.streams.topics import ALERTS

LOG = logging.getLogger("strom.alerts")
STABLE_SECONDS = 60.0  # following that went on for this long begins with the first pause again
_LONGEST_REASON = 200
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON in ASCII writes it


class Intake:
    def __init__(
        self, settings: Settings, outlets: Mapping[str, Wishes], on_news: Callable[[], None]
    ) -> None:
        """`outlets` are the names under which the table knows them, each with what it wants to hear."""
        self.counters = Taken()
        self._settings = settings
        self._outlets = outlets
        self._on_news = on_news
        self._deliveries = Deliveries(settings.postgres_url)
        self._records: Records | None = None
        self._stopping = threading.Event()
        self._foreign = RateLimitedLog(LOG)

    def run(self, on_ready: Callable[[], None]) -> None:
        """Until stopped; Kafka or Postgres may be away for as long as they like."""
        backoff = Backoff()
        ready = on_ready
        while not self._stopping.is_set():
            began = time.monotonic()
            pause = 0.0
            with ExitStack() as opened:
                try:
                    self._open(opened)
                    ready()
                    ready = _nothing  # once is enough
                    self._follow()
                except Exception as error:  # told before the consumer is closed, which may take long
                    if time.monotonic() - began >= STABLE_SECONDS:
                        backoff.reset()
                    pause = self._failed(error, backoff.next())
            self._stopping.wait(pause)
        self._deliveries.close()

    def stop(self) -> None:
        self._stopping.set()
        if self._records is not None:
            self._records.stop()

    def _failed(self, error: Exception, pause: float) -> float:
        """A server that is away, or a fault of ours: what was read and not noted is read again either way."""
        if isinstance(error, StromError):
            LOG.warning("%s Trying again in %.1f s.", error, pause)
        else:
            self.counters.restarts += 1
            told = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
            RESTARTS.add("following the alerts", told)
            LOG.error(
                "following the alerts failed (%s); it is started again in %.1f s", told, pause, exc_info=error
            )
        return pause

    def _open(self, opened: ExitStack) -> None:
        self._deliveries.prepare()
        ensure_contract_topics(self._settings)
        group = self._settings.alerts.sender
        self._records = opened.enter_context(Records(self._settings, [ALERTS], start=EARLIEST, group=group))

    def _follow(self) -> None:
        if self._records is None or self._stopping.is_set():
            return
        for record in self._records:
            self.counters.read += 1
            try:
                self._note(alert_of(record.value))
            except NotAnAlertError as error:
                self._pass_over(record, error)

    def _pass_over(self, record: Record, error: NotAnAlertError) -> None:
        self.counters.passed_over += 1
        place = f"{record.topic}/{record.partition}/{record.offset}"
        self._foreign.warning(
            "%s is not an alert and is passed over: %s", place, f"{error}"[:_LONGEST_REASON]
        )

    def _note(self, told: Told) -> None:
        now = time.time_ns() // 1_000_000
        found = False
        with self._deliveries.noting() as noting:
            for outlet, wishes in self._outlets.items():
                own = noting.heard(outlet, told)
                before = noting.end_before(outlet, told) if wishes.quiet_ms and not own else None
                fresh = news(told, own, before, wishes, now)
                if fresh is not None:
                    noting.keep(outlet, told, fresh, wishes.quiet_ms)
                    found = True
        if found:
            self._on_news()


def alert_of(value: bytes | None) -> Told:
    """The alert in a record's value; NotAnAlertError also for what could not be stored or sent on as text."""
    try:
        record = json.loads(value or b"", parse_constant=_no_number, parse_float=_finite)
        text = json.dumps(record)
        if _NUL.search(text):
            raise ValueError("it holds NUL, which no database takes")
        json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise NotAnAlertError(f"it is not JSON: {error}") from None
    return read_alert(record)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _no_number(text)
    return number


def _nothing() -> None:
    return
