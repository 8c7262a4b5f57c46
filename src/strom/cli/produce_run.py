"""One run of `strom produce`: sends what it is given, and tells at the end what became of it.

A line that is at fault itself is left out, and the others go on. Where Kafka takes no more, sending ends: later lines
would only overtake those that are sent again.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import Any

import typer

from strom.cli.message_source import Message, Unreadable
from strom.cli.produce_failed import FailedLines
from strom.cli.produce_heading import Heading
from strom.cli.produce_watch import Progress
from strom.cli.running import INTERRUPTED
from strom.errors import StromError
from strom.streams.producer import Producer
from strom.streams.refusals import MessageError
from strom.streams.transaction import UndecidedError

NAMED = 5  # failures that are told one by one


class Run:
    def __init__(
        self,
        producer: Producer,
        topic: str,
        *,
        heading: Heading,
        partition: int | None,
        timestamp: int | None,
        all_or_nothing: bool,
        one_by_one: bool,
        failed_lines: FailedLines | None = None,
        named: int = NAMED,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._heading = heading
        self._told: dict[str, Any] = {"partition": partition, "timestamp": timestamp}
        self._all_or_nothing = all_or_nothing
        self._one_by_one = one_by_one
        self._ends_at_failure = all_or_nothing or one_by_one
        self._failed_lines = failed_lines
        self._named = named
        self._answers = threading.Lock()  # they come on other threads
        self._given = 0
        self._last = ""  # where the last one that was sent stands
        self._written: Counter[int] = Counter()  # by partition
        self._in_parts = 0
        self._failures: list[str] = []
        self._failed = 0
        self._interrupted = False
        self._ended = False  # no more is to be sent
        self._broke_off = False  # and there was, or may have been, more

    def send(self, found: Iterable[Message | Unreadable]) -> None:
        """Until there is no more, or Ctrl-C; `tell` says what became of it."""
        try:
            with self._producer:
                self._producer.check(self._topic, self._told["partition"])
                with self._producer.transaction() if self._all_or_nothing else nullcontext():
                    self._send_all(found)
        except KeyboardInterrupt:
            self._interrupted = True
        except StromError as error:
            if not self._all_or_nothing or not self._given or isinstance(error, UndecidedError):
                raise
            raise StromError(f"Nothing was written to {self._topic}: {error}", exit_code=1) from None
        finally:
            if self._failed_lines is not None:
                self._failed_lines.close()

    def progress(self) -> Progress:
        with self._answers:
            return Progress(self._given, self._written.total(), self._failed)

    def _send_all(self, found: Iterable[Message | Unreadable]) -> None:
        rest = iter(found)
        for each in rest:
            if self._ended:  # it was told while this one was waited for
                self._break_off(chain([each], rest))
                break
            self._send(each)
            if self._ended:
                self._break_off(rest)
                break
        if self._failed and self._all_or_nothing:
            raise StromError(f"{self._failures[0]}.")

    def _break_off(self, rest: Iterable[Message | Unreadable]) -> None:
        """What comes now is not sent, but kept for another time if that was asked for."""
        self._broke_off = True
        if self._failed_lines is None:
            return
        self._producer.flush()  # what is under way stands before it
        for number, each in enumerate(rest, self._given + 1):
            if each.text is not None:
                self._failed_lines.keep(number, each.text)
                self._failed_lines.flush()  # they come in their order, and perhaps slowly

    def _send(self, message: Message | Unreadable) -> None:
        self._given += 1
        self._last = message.where
        line = None if self._failed_lines is None else message.text
        fail = partial(self._fail, self._given, message.where, line)
        if isinstance(message, Unreadable):
            fail(MessageError(message.why))
            return
        key, headers = self._heading(message)
        try:
            future = self._producer.send(self._topic, message.value, key, headers=headers, **self._told)
        except StromError as error:
            fail(error)
        except KeyboardInterrupt:
            fail(StromError("it was stopped before Kafka had confirmed it"))
            raise
        else:
            future.add_done_callback(partial(self._answered, fail))

    def _answered(self, fail: Callable[[BaseException], None], future: Any) -> None:
        error = future.exception()
        if error is not None:
            fail(error)
            return
        delivery = future.result()
        with self._answers:
            self._written[delivery.partition] += 1
            self._in_parts += delivery.parts > 1

    def _fail(self, number: int, where: str, line: bytes | None, error: BaseException) -> None:
        with self._answers:
            self._failed += 1
            self._ended = self._ended or self._ends_at_failure or not isinstance(error, MessageError)
            if len(self._failures) < self._named:
                self._failures.append(f"{where} ({str(error).rstrip('.')})")
        if self._failed_lines is not None and line is not None:
            self._failed_lines.keep(number, line)

    def tell(self) -> None:
        """The summary; raises StromError if not all of it was written."""
        interrupted = self._interrupted
        if interrupted and self._all_or_nothing:
            print(f"Stopped: nothing was written to {self._topic}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)
        print(self._summary())
        if self._failed:
            raise StromError(
                f"{self._failed:,} of {self._given:,} messages were not written: {', '.join(self._failures)}"
                f"{self._not_named()}{self._not_sent()}{self._to_send_again()}.",
                exit_code=INTERRUPTED if interrupted else 1,
            )
        if interrupted:
            print(f"Stopped after {_messages(self._given)}.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)

    def _not_named(self) -> str:
        more = self._failed - len(self._failures)
        hint = " (--failed FILE keeps all of them)" if self._failed_lines is None else ""
        return f" and {more:,} more{hint}" if more else ""

    def _not_sent(self) -> str:
        if not self._broke_off:
            return ""
        return f"; nothing after {'it' if self._failed == 1 and self._one_by_one else self._last} was sent"

    def _to_send_again(self) -> str:
        kept = self._failed_lines
        if kept is None:
            return ""
        if kept.trouble is not None:
            return f"; {kept.path} has not all of them to send again ({kept.trouble})"
        return f"; {kept.count:,} to send again in {kept.path}" if kept.count else ""

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
