"""Follows the topic of alerts and notes for each outlet what it should hear; sends nothing itself.

A record's place in the topic is committed after its news are in the table: a crash in between reads it again, and
the table knows what it has.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from strom.backoff import Backoff
from strom.domain.notices import NotAnAlertError, Told, Wishes, news, read_alert
from strom.errors import StromError
from strom.notify.counters import Taken
from strom.settings import Settings
from strom.store.deliveries import Deliveries
from strom.streams.admin import ensure_contract_topics
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from strom.streams.topics import ALERTS

LOG = logging.getLogger("strom.alerts")


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

    def run(self, on_ready: Callable[[], None]) -> None:
        """Until stopped; Kafka or Postgres may be away for as long as they like."""
        backoff = Backoff()
        ready = on_ready
        while not self._stopping.is_set():
            try:
                with ExitStack() as opened:
                    self._open(opened)
                    ready()
                    ready = _nothing  # once is enough
                    backoff.reset()
                    self._follow()
            except StromError as error:
                pause = backoff.next()
                LOG.warning("%s Trying again in %.1f s.", error, pause)
                self._stopping.wait(pause)
        self._deliveries.close()

    def stop(self) -> None:
        self._stopping.set()
        if self._records is not None:
            self._records.stop()

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
            told = self._alert_in(record)
            if told is not None:
                self._note(told)

    def _alert_in(self, record: Record) -> Told | None:
        try:
            return alert_of(record.value)
        except NotAnAlertError as error:
            place = f"{record.topic}/{record.partition}/{record.offset}"
            LOG.warning("%s is not an alert and is passed over: %s", place, error)
            self.counters.passed_over += 1
            return None

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
    """The alert in a record's value; NotAnAlertError also for what could not be sent on as text."""
    try:
        record = json.loads(value or b"", parse_constant=_no_number)
        json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise NotAnAlertError(f"it is not JSON: {error}") from None
    return read_alert(record)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _nothing() -> None:
    return
