"""All or nothing: what a producer sends within a transaction is seen by others when it ends well, and never else."""

import contextlib
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Client

from strom.errors import StromError
from strom.streams.client import error_of

_TRY_SECONDS = 5.0
_ABORT_SECONDS = 60.0  # at most: whoever gives up has waited for the broker already, and it aborts by itself

Explain = Callable[[KafkaException], StromError]


class UndecidedError(StromError):
    """The broker fell silent over a commit: it may or may not have been carried out."""


class Transactions:
    """Those of one producer, one after the other."""

    def __init__(self, client: Client, explain: Explain, timeout: float) -> None:
        self.is_open = False
        self._client = client
        self._explain = explain
        self._timeout = timeout

    def init(self) -> None:
        """Take over the transactional id; another producer that had it can write no more."""
        try:
            self._persist(self._client.init_transactions, self._timeout)
        except KafkaException as error:
            raise self._explain(error) from None

    def begin(self) -> None:
        if self.is_open:
            raise StromError("A transaction is open already; end it before the next one begins.")
        try:
            self._client.begin_transaction()
        except KafkaException as error:
            raise self._explain(error) from None
        self.is_open = True

    def commit(self, failure: StromError | None) -> None:
        """Wait until others see all of it; nothing of it was written if this raises, or it says that it cannot know.

        `failure` is why a message of it was not written, if one was not: the client library only tells that.
        """
        try:
            self._persist(self._client.commit_transaction, self._timeout)
        except KafkaException as error:
            if error_of(error).retriable():
                self.is_open = False
                raise UndecidedError(
                    f"Kafka has not answered for {self._timeout:g} s whether the transaction was written; "
                    "look into the topic before you send it again.",
                    exit_code=1,
                ) from None
            if failure is not None and error_of(error).code() == KafkaError._INCONSISTENT:
                raise failure from None
            raise self._explain(error) from None
        self.is_open = False

    def abort(self) -> None:
        """Nothing of it is ever seen: what cannot be taken back now, the broker takes back after a while."""
        if not self.is_open:
            return
        with contextlib.suppress(KafkaException):
            self._persist(self._client.abort_transaction, min(self._timeout, _ABORT_SECONDS))
        self.is_open = False

    def _persist(self, step: Callable[[float], None], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                step(_TRY_SECONDS)
                return
            except KafkaException as error:
                if not error_of(error).retriable() or time.monotonic() > deadline:
                    raise
