"""A right that one process has at a time, given out by Kafka's group coordinator; needs nothing but a topic.

Whoever is assigned the topic's first partition holds it. A holder that dies, or stands still for the session's length,
loses it to the next one, and learns so from the coordinator when it asks with `check`. What a holder does within
SAFE_SECONDS of a check is done before anybody else can hold the lease.

Others that come and go may cost a holder its place in the group for a moment. Each holder therefore commits a token of
its own before anything else: one that is back, and finds its token, goes on, since nobody has held the lease meanwhile.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.client import UNREACHABLE, common_config, error_of, no_answer
from strom.streams.closing import close_within

LOG = logging.getLogger("strom.streams")
SESSION_SECONDS = 20.0
SAFE_SECONDS = SESSION_SECONDS / 2
WAIT_SECONDS = SESSION_SECONDS + 10.0  # longer than a holder that was killed is remembered
_PULSE_SECONDS = 0.2


class Lease:
    """with Lease(settings, "strom-redrive", topics.REDRIVEN, busy=…) as lease: … lease.check() …"""

    def __init__(self, settings: Settings, name: str, topic: str, *, busy: str) -> None:
        """`busy` is the sentence for whoever waits in vain, or has lost it."""
        self._settings = settings
        self._place = TopicPartition(topic, 0)
        self._busy = busy
        self._ended = threading.Event()
        self._name = name
        self._consumer = Consumer(_config(settings, name))
        self._one = threading.Lock()  # the consumer is asked by one thread at a time
        self._token = uuid.uuid4().hex
        self._is_lost = False  # perhaps: the token tells whether another one has held it since
        # Polling keeps the session alive, and takes part when another one joins.
        self._pulse = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._consumer.subscribe([self._place.topic], on_lost=self._on_lost, on_revoke=self._on_lost)
        self._poll()
        self._pulse.start()
        try:
            # Whoever comes while others come and go may be given it and lose it a few times: nothing is done with it yet.
            self._await(self._is_newly_held, WAIT_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._ended.set()
        if self._pulse.is_alive():
            self._pulse.join()
        close_within(f"the lease {self._name}", self._consumer.close, LOG)

    def check(self) -> None:
        """Ask the coordinator whether this is still the holder; raises StromError if not."""
        self._await(self._is_still_held, SAFE_SECONDS)

    def _is_newly_held(self) -> bool:
        self._is_lost = False
        return self._is_confirmed()

    def _is_still_held(self) -> bool:
        if self._is_lost and self._is_assigned():
            if self._noted() != self._token:
                raise StromError(self._busy)
            self._is_lost = False
        return self._is_confirmed()

    def _is_assigned(self) -> bool:
        with self._one:
            assigned = self._consumer.assignment()
        return any(each.partition == self._place.partition for each in assigned)

    def _is_confirmed(self) -> bool:
        """Whether the coordinator takes the token; not while another one joins, which ends in a moment."""
        if not self._is_assigned():
            return False
        try:
            mine = TopicPartition(self._place.topic, self._place.partition, 0, metadata=self._token)
            with self._one:
                self._consumer.commit(offsets=[mine], asynchronous=False)
        except KafkaException as error:
            code = error_of(error).code()
            if code in UNREACHABLE:
                raise no_answer(self._settings, error_of(error)) from None
            if code != KafkaError.REBALANCE_IN_PROGRESS:
                self._is_lost = True
            return False
        return True

    def _noted(self) -> str | None:
        """The token of the last one that held it."""
        try:
            with self._one:
                return self._consumer.committed([self._place], timeout=SAFE_SECONDS)[0].metadata
        except KafkaException as error:
            raise no_answer(self._settings, error_of(error)) from None

    def _on_lost(self, *_: object) -> None:
        self._is_lost = True

    def _await(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise StromError(self._busy)
            time.sleep(_PULSE_SECONDS / 2)

    def _beat(self) -> None:
        while not self._ended.wait(_PULSE_SECONDS):
            self._poll()

    def _poll(self) -> None:
        with self._one:
            self._consumer.poll(0)


def _config(settings: Settings, name: str) -> dict[str, object]:
    session_ms = round(SESSION_SECONDS * 1000)
    return common_config(settings, name) | {
        "group.id": name,
        # Who has it keeps it when another one joins.
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": session_ms // 6,
        "max.poll.interval.ms": session_ms,
        "enable.auto.commit": False,
        "auto.offset.reset": "latest",
    }
