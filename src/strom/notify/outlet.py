"""What all outlets have in common: what is handed to them, and what they answer."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from strom.domain.notices import State, key_of


@dataclass(frozen=True, slots=True)
class Notice:
    """One state of one alert on its way out; the same bytes at every attempt."""

    alert: Mapping[str, Any]  # as the topic told it
    state: State
    noted: datetime
    root: str | None = None  # the key of the notice that began the same story, if it is not this one

    @property
    def key(self) -> str:
        """Receivers tell a repeat by it."""
        return key_of(str(self.alert["id"]), self.state)

    @property
    def incident(self) -> str:
        """The id of the alert under which the story began; an alert that comes back in the quiet period goes on with it."""
        return (self.root or self.key).rpartition(".")[0]

    def body(self) -> bytes:
        """As JSON, for programs."""
        told = {
            "v": 1,
            "key": self.key,
            "state": self.state.value,
            "incident": self.incident,
            "alert": self.alert,
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""

    remark: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The receiver will never take it."""

    why: str


@dataclass(frozen=True, slots=True)
class Later:
    """Not now; the receiver may have said when to try again."""

    why: str
    after: float | None = None


Answer = Delivered | Refused | Later


class Outlet(Protocol):
    """A way out. `send` takes its time but comes back, and raises nothing that happens outside."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str:
        """Where it leads, without anything secret."""
        ...

    def send(self, notice: Notice) -> Answer: ...

    def rest(self) -> None:
        """Nothing more to send for now: let go of connections."""
        ...


def words_of(error: BaseException) -> str:
    """An error of the system in a few words on one line."""
    strerror = getattr(error, "strerror", None)
    return " ".join(str(strerror or error or type(error).__name__).split())[:200]


def plain_key(key: str) -> str:
    """The key where it is plain, as Strom's own are, else one made of it: it becomes a file's name or a Message-ID."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.[a-z]+", key)
    return key if plain else hashlib.sha256(key.encode()).hexdigest()
