"""Runs boxes in a thread of their own, so that whoever started them can do something else."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

from strom.devices.box.box import Box


@contextmanager
def serving(boxes: Sequence[Box]) -> Iterator[None]:
    """While the block lasts the boxes answer; afterwards all their connections are closed."""
    with ExitStack() as listening:
        for box in boxes:
            listening.enter_context(box.listening())
        server = _Server(boxes)
        server.start()
        server.started.wait()
        try:
            yield
        finally:
            server.stop()


class _Server(Thread):
    def __init__(self, boxes: Sequence[Box]) -> None:
        super().__init__(name="boxes", daemon=True)
        self.started = Event()
        self._boxes = boxes
        self._trouble: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:
            self._trouble = error
        finally:
            self.started.set()

    def stop(self) -> None:
        if self.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self.join()
        if self._trouble is not None:
            raise self._trouble

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self.started.set()
        serving = asyncio.gather(*(box.run() for box in self._boxes))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and not self._stopping.is_set():
            await serving
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
