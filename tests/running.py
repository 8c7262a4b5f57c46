"""Runs the long-running verbs as users do: each a process of its own with a log."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strom.settings import Settings
from strom.stack.ready import announced_pid
from tests.waiting import until

_SECONDS = 90.0  # to be ready, to log, to end
_STROM = ("-m", "strom")


@dataclass
class Running:
    """`part` is the name by which it announces that it is ready."""

    part: str
    settings: Settings
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def await_log(self, words: str) -> None:
        until(lambda: words in self.log, f"{self.part} logs {words!r}", _SECONDS)

    def await_ready(self) -> None:
        until(self._is_ready_or_gone, f"{self.part} is ready", _SECONDS)
        assert self.process.poll() is None, self.log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(_SECONDS)

    def stop(self) -> int:
        """One that does not end fails the test, and does not outlive it."""
        self.process.terminate()
        try:
            return self.process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _is_ready_or_gone(self) -> bool:
        announced = announced_pid(self.settings.home, self.part) == self.process.pid
        return announced or self.process.poll() is not None


def start(settings: Settings, part: str, *words: str, program: Sequence[str] = _STROM) -> Running:
    """`strom` with these words; its log goes on in the same file when it is started again."""
    settings.home.mkdir(parents=True, exist_ok=True)
    path = settings.home / f"{part}.log"
    with path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *program, *words], env=settings.child_environment(), stderr=log
        )
    return Running(part, settings, process, path)


@contextmanager
def running(settings: Settings, part: str, *words: str, program: Sequence[str] = _STROM) -> Iterator[Running]:
    """One that is ready; asked to stop at the end unless the test has ended it."""
    started = start(settings, part, *words, program=program)
    try:
        started.await_ready()
        yield started
    finally:
        if started.process.poll() is None:
            started.stop()
