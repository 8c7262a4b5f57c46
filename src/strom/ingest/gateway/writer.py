"""A process that writes for the gateway: it reads bodies, sends what is in them to Kafka and says what became of it.

The gateway starts it with one end of a socket as its standard input and the number of a file with the bodies; it ends
when the other end is closed: with the gateway, however that ended.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.bodies import read_messages
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.frames import READY, Line, Result, Task, slots_in
from strom.ingest.gateway.outcome import YES
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.runtime import collect_garbage_rarely, loop_factory
from strom.ingest.gateway.writing import write_all
from strom.logs import log_to_stderr
from strom.settings import Settings, load_settings

LOG = logging.getLogger("strom.gateway")

NO_FOLDER = Path(os.devnull)
_HOUSEKEEPING_SECONDS = 1.0


class _Work:
    def __init__(self, settings: Settings, line: Line, slots: list[memoryview]) -> None:
        self._line = line
        self._slots = slots
        counters = Counters()  # shown by nobody: what is written is told with each result
        self._background = Background(counters)
        self._sender = Sender(settings, counters, self._background, arrays=True)
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the gateway is gone, and what it has asked for is done."""
        self._background.every(_HOUSEKEEPING_SECONDS, "producers", self._sender.poll)
        self._line.send_result(READY)
        while (task := await self._line.read_task()) is not None:
            doing = asyncio.create_task(self._do(task))
            self._under_way.add(doing)
            doing.add_done_callback(self._under_way.discard)
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._background.stop()
        self._sender.close()

    async def _do(self, task: Task) -> None:
        retry_after, written, not_written = None, 0, 0
        try:
            given = read_messages(self._slots[task.slot][: task.size], task.topic)
            answer = await write_all(self._sender, {task.topic: task.partitions}, given, task.user)
            written = len(given.messages)
        except Problem as problem:
            answer, retry_after = problem.answer(), problem.retry_after
            told = problem.more.get("messages", ())  # unless nothing was sent
            written = sum(each["written"] == YES for each in told)
            not_written = len(told) - written
        except Exception:
            LOG.exception("a process of the gateway failed to write to %s", task.topic)
            answer = Problem(500, "The gateway failed to answer this; its log tells why.").answer()
        self._line.send_result(
            Result(task.number, answer.status, retry_after or 0, written, not_written, answer.body)
        )


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the gateway says when it is over
    log_to_stderr()
    collect_garbage_rarely()
    # All that the gateway was told is in the environment; the file may have changed since.
    settings, slots = load_settings(folder=NO_FOLDER), slots_in(int(sys.argv[1]))

    async def run() -> None:
        with socket.socket(fileno=0) as connection:
            line = await Line.over(connection)
            await _Work(settings, line, slots).run()
            line.close()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(run())


if __name__ == "__main__":
    main()
