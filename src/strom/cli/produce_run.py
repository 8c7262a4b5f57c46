"""One run of `strom produce`: sends what it is given, shows how far it is, and tells at the end what became of it."""

import sys
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import typer

from strom.cli.message_source import Message, Unreadable
from strom.cli.running import INTERRUPTED
from strom.cli.terminal import Terminal
from strom.errors import StromError
from strom.streams.outgoing import Header
from strom.streams.producer import Producer
from strom.streams.transaction import UndecidedError

_NAMED = 5  # failures that are told one by one


class Run:
    def __init__(
        self,
        producer: Producer,
        topic: str,
        *,
        headers: list[Header],
        partition: int | None,
        timestamp: int | None,
        all_or_nothing: bool,
        one_by_one: bool,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._told: dict[str, Any] = {"headers": headers, "partition": partition, "timestamp": timestamp}
        self._all_or_nothing = all_or_nothing
        self._ends_at_failure = all_or_nothing or one_by_one
        self._terminal = Terminal()
        self._answers = threading.Lock()  # they come on other threads
        self._given = 0
        self._written: Counter[int] = Counter()  # by partition
        self._in_parts = 0
        self._failures: list[str] = []
        self._failed = 0

    def send(self, found: Iterable[Message | Unreadable]) -> None:
        """Until there is no more, or Ctrl-C; raises StromError if not all of it was written."""
        interrupted = False
        try:
            with self._producer:
                self._producer.check(self._topic, self._told["partition"])
                with self._producer.transaction() if self._all_or_nothing else nullcontext():
                    self._send_all(found)
        except KeyboardInterrupt:
            interrupted = True
        except StromError as error:
            if not self._all_or_nothing or not self._given or isinstance(error, UndecidedError):
                raise
            raise StromError(f"Nothing was written to {self._topic}: {error}", exit_code=1) from None
        finally:
            self._terminal.clear()
        self._tell(interrupted=interrupted)

    def _send_all(self, found: Iterable[Message | Unreadable]) -> None:
        for each in found:
            self._given += 1
            self._send(each)
            if self._failed and self._ends_at_failure:
                break
            if self._terminal.is_due:
                self._terminal.tick(f"{self._given:,} sent, {self._written.total():,} written")
        if self._failed and self._all_or_nothing:
            raise StromError(f"{self._failures[0]}.")

    def _send(self, message: Message | Unreadable) -> None:
        if isinstance(message, Unreadable):
            self._fail(message.where, message.why)
            return
        try:
            future = self._producer.send(self._topic, message.value, message.key, **self._told)
        except StromError as error:
            self._fail(message.where, str(error))
        else:
            future.add_done_callback(partial(self._answered, message.where))

    def _answered(self, where: str, future: Any) -> None:
        error = future.exception()
        if error is not None:
            self._fail(where, str(error))
            return
        delivery = future.result()
        with self._answers:
            self._written[delivery.partition] += 1
            self._in_parts += delivery.parts > 1

    def _fail(self, where: str, why: str) -> None:
        with self._answers:
            self._failed += 1
            if len(self._failures) < _NAMED:
                self._failures.append(f"{where} ({why.rstrip('.')})")

    def _tell(self, *, interrupted: bool) -> None:
        if interrupted and self._all_or_nothing:
            print(f"Stopped: nothing was written to {self._topic}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)
        print(self._summary())
        if self._failed:
            more = self._failed - len(self._failures)
            rest = f" and {more:,} more" if more else ""
            ended = "; nothing after it was sent" if self._ends_at_failure else ""
            raise StromError(
                f"{self._failed:,} of {self._given:,} messages were not written: "
                f"{', '.join(self._failures)}{rest}{ended}.",
                exit_code=INTERRUPTED if interrupted else 1,
            )
        if interrupted:
            print(f"Stopped after {_messages(self._given)}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)

    def _summary(self) -> str:
        places = ", ".join(
            f"{count:,} to partition {number}" for number, count in sorted(self._written.items())
        )
        parts = f"; {self._in_parts:,} in parts" if self._in_parts else ""
        return f"{_messages(self._written.total())} written to {self._topic}" + (
            f": {places}{parts}." if places else "."
        )


def _messages(number: int) -> str:
    return f"{number:,} message{'' if number == 1 else 's'}"
