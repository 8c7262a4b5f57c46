"""What the supervisor needs to know of any part of the stack: how to prepare, start, ask and stop it.

Knows no part in particular; each has its own file beside this one.
"""

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from strom.settings import Settings
from strom.stack.ports import refuse_if_taken
from strom.stack.ready import withdraw


class NotReadyError(Exception):
    """The part does not answer yet; says what was tried."""


class Part(ABC):
    name: str  # as in `strom status --json`
    label: str  # as in sentences
    group: ClassVar[str | None] = None  # the name for `--only` where several parts share one; else its own
    needs: tuple[str, ...] = ()  # names or groups of parts that must be ready before this one starts
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    death_signal: ClassVar[signal.Signals] = signal.SIGKILL  # sent by the kernel when the supervisor dies
    stop_seconds: float = 20.0  # after this a part that does not stop is killed
    start_seconds: float = 120.0
    # Right after a crash the system may still hold what a server's former process had.
    first_attempts: ClassVar[int] = 3
    user: ClassVar[str | None] = None  # whom to run as when started by root

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.home = settings.home.absolute()

    @classmethod
    def all_of(cls, settings: Settings) -> list["Part"]:
        """As many of it as the settings say."""
        return [cls(settings)]

    @property
    def kind(self) -> str:
        """Its name for `--only`; parts of one kind have one supervisor."""
        return self.group or self.name

    @property
    def names(self) -> set[str]:
        """By which others may need it."""
        return {self.name} if self.group is None else {self.name, self.group}

    @property
    @abstractmethod
    def address(self) -> str:
        """Where people and programs reach it; never with a password."""

    @property
    def external(self) -> bool:
        """True if the settings name an existing server: then nothing is started here."""
        return False

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        """Host, port and setting of every port that must be free."""
        return ()

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The process's environment; None is the supervisor's own."""
        return None

    def check(self) -> None:
        """Refuse, before anything is started, what would fail later; one sentence each."""
        for host, port, setting in self.ports:
            refuse_if_taken(host, port, self.label, setting)

    def prepare(self) -> None:
        """Make data folders and configuration; repeated before every start."""
        withdraw(self.home, self.name)

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments."""

    @abstractmethod
    def probe(self, pid: int | None) -> None:
        """Ask it one real thing; NotReadyError while it has no answer. An existing server has no pid."""

    async def tend(self, pid: int, report: Callable[[str], None]) -> None:
        """What it needs for as long as it runs; `report` tells people what goes wrong."""
        return

    def settle(self) -> None:
        """What must exist in it before others use it (topics, tables)."""
        return
