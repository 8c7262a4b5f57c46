"""Keeps one part alive: starts it, waits until it answers, starts it again with back-off when it dies."""

import asyncio
import time
from collections.abc import Callable, Sequence

from strom.errors import StromError
from strom.stack import children
from strom.stack.guardian import Guardian
from strom.stack.part import NotReadyError, Part
from strom.stack.processes import birth
from strom.stack.state import EXTERNAL, RUNNING, STOPPED, PartState

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a dead part is started again, doubling in between
STABLE_SECONDS = 60.0  # a part that ran this long starts over with the first pause
PROBE_PAUSE = 0.05


class Keeper:
    def __init__(
        self, part: Part, guardian: Guardian, report: Callable[[str], None], changed: Callable[[], None]
    ):
        self.part = part
        self.ready = asyncio.Event()
        self.restarts = 0
        self.process: asyncio.subprocess.Process | None = None
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._guardian = guardian
        self._report = report
        self._changed = changed

    @property
    def state(self) -> PartState:
        if self.part.external:
            return PartState(EXTERNAL, self.part.address)
        pid = self.process.pid if self.process else None
        state = RUNNING if self.ready.is_set() else STOPPED
        return PartState(state, self.part.address, pid, self.restarts, birth(pid) if pid else None)

    async def bring_up(self, needs: Sequence["Keeper"]) -> None:
        """First start: an error here is the person's to mend and ends the whole start."""
        for need in needs:
            await need.ready.wait()
        if self.part.external:
            await asyncio.to_thread(check_elsewhere, self.part)
            self.ready.set()
            return
        for attempt in range(1, self.part.first_attempts + 1):
            try:
                await self._start()
            except DiedError:
                if attempt == self.part.first_attempts:
                    raise
                await asyncio.sleep(FIRST_PAUSE)
            else:
                return

    async def keep_up(self) -> None:
        """Ever after: a part that dies is started again, later each time."""
        pause = FIRST_PAUSE
        while self.process is not None or not self.part.external:
            began = time.monotonic()
            await self._until_gone()
            pause = FIRST_PAUSE if time.monotonic() - began > STABLE_SECONDS else pause
            if self._wanted.is_set():
                self._report(f"{self.part.label} ended unexpectedly; starting it again in {pause:g} s")
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            await self._wanted.wait()
            self.restarts += 1
            try:
                await self._start()
            except Exception as error:  # whatever it is, the part must be tried again
                self._report(f"{self.part.label} did not start: {error}")

    async def halt(self) -> None:
        """Stop it and leave it stopped until `resume`."""
        self._wanted.clear()
        if self.process is not None:
            await children.stop(self.part, self.process)

    def resume(self) -> None:
        self._wanted.set()

    async def _start(self) -> None:
        began = time.monotonic()
        self._report(f"{self.part.label} is starting")
        await asyncio.to_thread(self.part.prepare)
        self.process = await children.spawn(self.part)
        self._guardian.watch(self.process.pid)
        self._changed()
        try:
            await self._await_ready(self.process)
            await asyncio.to_thread(self.part.settle)
        except Exception:
            await self._discard()
            raise
        self.ready.set()
        self._changed()
        self._report(
            f"{self.part.label} is ready after {time.monotonic() - began:.1f} s: {self.part.address}"
        )

    async def _await_ready(self, process: asyncio.subprocess.Process) -> None:
        deadline = time.monotonic() + self.part.start_seconds
        while True:
            try:
                return await asyncio.to_thread(self.part.probe, process.pid)
            except NotReadyError as error:
                reason = error
            if await _ended(process, PROBE_PAUSE):
                raise DiedError(self.part, process.returncode)
            if time.monotonic() > deadline:
                raise StromError(
                    f"{self.part.label} does not answer ({reason}): look at {self.part.log_file}."
                )

    async def _until_gone(self) -> None:
        if self.process is not None:
            tending = asyncio.ensure_future(self.part.tend(self.process.pid, self._report))
            try:
                await self.process.wait()
            finally:
                tending.cancel()
            await self._discard()

    async def _discard(self) -> None:
        process, self.process = self.process, None
        self.ready.clear()
        if process is not None:
            children.kill_group(process.pid)
            await process.wait()
            self._guardian.forget(process.pid)
        self._changed()


class DiedError(StromError):
    def __init__(self, part: Part, code: int | None) -> None:
        said = _last_words(part)
        super().__init__(
            f"{part.label} ended with code {code} while starting{said}: look at {part.log_file}."
        )


def check_elsewhere(part: Part) -> None:
    """A server that runs already: ask it something, and see to the contract's topics or tables in it."""
    try:
        part.probe(None)
    except NotReadyError as error:
        if isinstance(error.__cause__, StromError):
            raise error.__cause__ from None  # the client has said it well
        raise StromError(
            f"{part.label} does not answer at {part.address} ({error}): start it, or correct the address."
        ) from None
    part.settle()


def _last_words(part: Part) -> str:
    if not part.log_file.exists():
        return ""
    lines = part.log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f" ({lines[-1].strip().removeprefix('strom: ').rstrip('.')})" if lines else ""


async def _ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    waiting = asyncio.ensure_future(process.wait())
    done, _ = await asyncio.wait({waiting}, timeout=seconds)
    waiting.cancel()
    return bool(done)
