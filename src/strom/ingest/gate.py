"""Makes sure beside the main loop that the contract's topics exist: asking takes long when Kafka is away."""

import logging
import threading
from collections.abc import Callable

from strom.backoff import Backoff
from strom.errors import StromError
from strom.settings import Settings
from strom.streams.admin import ensure_contract_topics
from strom.supervision import SupervisedThread

LOG = logging.getLogger("strom.bridge")
_ANSWER_SECONDS = 5.0


class TopicGate:
    """Open once Kafka has answered and the topics are there."""

    def __init__(
        self,
        settings: Settings,
        log: logging.Logger = LOG,
        on_restart: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._log = log
        self._on_restart = on_restart
        self._opened = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        return self._opened.is_set()

    def open(self) -> None:
        """Begin to ask, unless that is under way; also when a topic has vanished."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = SupervisedThread(
                "topic-gate", self._ask, self._closing, self._log, self._on_restart
            )
            self._thread.start()

    def close(self) -> None:
        self._closing.set()

    def _ask(self) -> None:
        backoff = Backoff()
        told = ""
        while not self._closing.is_set():
            try:
                ensure_contract_topics(self._settings, timeout=_ANSWER_SECONDS)
                self._opened.set()
                return
            except StromError as error:
                if str(error) != told and not self._closing.is_set():  # once, not at every attempt
                    told = str(error)
                    self._log.warning("%s", told)
            self._closing.wait(backoff.next())
