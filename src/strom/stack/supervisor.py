"""The running stack: starts the chosen parts by their dependencies, watches over them, stops them.

All children are started from one thread that lives until they are gone: the kernel ties its parent-death
signal to the starting thread, not to the process.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Self

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.catalogue import choose, held, needed_elsewhere, usual
from strom.stack.guardian import Guardian
from strom.stack.keeper import Keeper, check_elsewhere
from strom.stack.lock import PartLocks
from strom.stack.state import PartState, end_leftovers, write_state


def _silent(_: str) -> None:
    return


class Stack:
    """`with Stack(settings, ["kafka", "mqtt"]) as stack:` is ready inside and gone after."""

    def __init__(
        self,
        settings: Settings,
        parts: Iterable[str] | None = None,  # None: all that `strom up` starts
        *,
        report: Callable[[str], None] = _silent,
    ) -> None:
        self.settings = settings
        self.home = settings.home.absolute()
        self._parts = choose(settings, usual(settings) if parts is None else parts)
        self._report = report
        self._kinds = held(self._parts)
        self._locks = PartLocks(self.home, self._kinds)
        self._keepers: dict[str, Keeper] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._changes = threading.Condition()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return when every part has answered; on an error or an interrupt nothing is left running."""
        self._locks.acquire()
        try:
            for kind in self._kinds:
                end_leftovers(self.home, kind)
            self._check()
            self._guardian = Guardian()
            self._thread = threading.Thread(target=self._loop.run_forever, name="strom-stack", daemon=True)
            self._thread.start()
            self._run(self._bring_up())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the parts, those that use others first; safe to repeat."""
        if self._thread is not None:
            self._run(self._bring_down())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._thread = None
            self._loop.close()
            self._guardian.dismiss()
            for kind in self._kinds:
                write_state(self.home, kind, {})
        self._locks.release()

    def pid(self, part: str) -> int:
        state = self.state(part)
        if state.pid is None:
            raise StromError(f"{part} is not running in this stack.")
        return state.pid

    def restarts(self, part: str) -> int:
        return self.state(part).restarts

    def state(self, part: str) -> PartState:
        return self._keeper(part).state

    def kill(self, part: str) -> int:
        """SIGKILL, as a crash would; returns the pid that is gone."""
        pid = self.pid(part)
        os.kill(pid, signal.SIGKILL)
        return pid

    def await_ready(self, part: str, *, other_than: int | None = None, seconds: float = 240.0) -> int:
        """Wait until the part answers, after a `kill` in another process than that; returns its pid."""
        deadline = time.monotonic() + seconds
        with self._changes:
            while not self._is_ready(part, other_than):
                if not self._changes.wait(deadline - time.monotonic()):
                    raise StromError(
                        f"{part} is not ready after {seconds:g} s: look at {self.home / 'logs'}."
                    )
        return self.pid(part)

    def halt(self, part: str) -> None:
        """Stop one part and leave it stopped."""
        self._run(self._keeper(part).halt())

    def resume(self, part: str) -> None:
        """Start a halted part again; `await_ready` tells when."""
        self._loop.call_soon_threadsafe(self._keeper(part).resume)

    def _is_ready(self, part: str, other_than: int | None) -> bool:
        keeper = self._keeper(part)
        process = keeper.process
        return keeper.ready.is_set() and process is not None and process.pid != other_than

    def _keeper(self, part: str) -> Keeper:
        if part not in self._keepers:
            raise StromError(
                f"{part} is not a part of this stack: it has {', '.join(self._keepers) or 'none'}."
            )
        return self._keepers[part]

    def _check(self) -> None:
        for part in self._parts:
            if not part.external:
                part.check()
        for part in needed_elsewhere(self.settings, self._parts):
            check_elsewhere(part)

    async def _bring_up(self) -> None:
        self._keepers = {
            part.name: Keeper(part, self._guardian, self._report, self._changed) for part in self._parts
        }
        async with asyncio.TaskGroup() as group:
            for keeper in self._keepers.values():
                group.create_task(keeper.bring_up(self._needs(keeper)))
        self._changed()
        self._tasks = [
            self._loop.create_task(keeper.keep_up())
            for keeper in self._keepers.values()
            if not keeper.part.external
        ]

    async def _bring_down(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = dict(self._keepers)
        while left:
            used = {need for keeper in left.values() for need in keeper.part.needs}
            now = [keeper for keeper in left.values() if not keeper.part.names & used]
            await asyncio.gather(*(self._stop_one(keeper) for keeper in now))
            left = {name: keeper for name, keeper in left.items() if keeper not in now}
        await self._loop.shutdown_default_executor()

    async def _stop_one(self, keeper: Keeper) -> None:
        if keeper.process is not None:
            self._report(f"{keeper.part.label} is stopping")
            await keeper.halt()

    def _needs(self, keeper: Keeper) -> list[Keeper]:
        return [each for each in self._keepers.values() if each.part.names & set(keeper.part.needs)]

    def _changed(self) -> None:
        for kind in self._kinds:
            write_state(self.home, kind, self._states(kind))
        with self._changes:
            self._changes.notify_all()

    def _states(self, kind: str) -> dict[str, PartState]:
        """Those of the kind, and with the first one those of the parts that run elsewhere."""
        own = {name: self._kinds[0] if k.part.external else k.part.kind for name, k in self._keepers.items()}
        return {name: self._keepers[name].state for name in own if own[name] == kind}

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            future.result()
        except BaseExceptionGroup as group:
            raise _first(group) from None
        except BaseException:
            future.cancel()
            raise


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of several parts that failed together one sentence is enough: the next start tells the next."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
