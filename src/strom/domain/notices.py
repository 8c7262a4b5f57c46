"""Which news in an alert is told to whom: states, filters, and the quiet period against flapping.

Pure functions of an alert as the topic tells it and of what an outlet has been told before. A record says how an
alert is now; what of that is news depends on what is known. An outlet hears of an alert's opening, of its becoming
severe, of its end and of its withdrawal, each once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from strom.domain.reading import epoch_ms
from strom.domain.values import LATEST_MS

LONGEST_NAME = 500  # of ids, meters, kinds: what is longer came from nowhere that Strom knows


class State(StrEnum):
    OPENED = "opened"
    SEVERE = "severe"
    ENDED = "ended"
    WITHDRAWN = "withdrawn"
    TEST = "test"  # a person asked whether the outlet works


class Status(StrEnum):
    """What became of one state of an alert at one outlet."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"  # for good; a person can have it sent again
    QUIET = "quiet"  # not sent: the alert came back within the quiet period
    GIVEN_UP = "given-up"  # the outlet was away for longer than deliveries are kept


class NotAnAlertError(ValueError):
    """A record of the topic that is not an alert; its text says why."""


@dataclass(frozen=True, slots=True)
class Told:
    """An alert as a record tells it; times are epoch ms."""

    id: str
    meter: str
    kind: str
    part: str
    severe: bool
    started: int
    ended: int | None
    withdrawn: bool
    text: str
    record: Mapping[str, Any]  # all of it, also what is new since this was written

    @property
    def moment(self) -> int:
        """When what it tells happened, as far as it says."""
        return self.started if self.ended is None or self.withdrawn else self.ended


def read_alert(record: Any) -> Told:
    """The alert in a record's JSON value; raises NotAnAlertError."""
    if not isinstance(record, dict):
        raise NotAnAlertError("it is not an object")
    try:
        ended = record.get("ended")
        return Told(
            id=_name(record, "id"),
            meter=_name(record, "meter"),
            kind=_name(record, "kind"),
            part=_name(record, "part") if record.get("part") else "",
            severe=record["severe"] is True,
            started=_moment(record["started"]),
            ended=None if ended is None else _moment(ended),
            withdrawn=record.get("withdrawn") is True,
            text=str(record["text"]),
            record=record,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise NotAnAlertError(f"{type(error).__name__}: {error}") from None


def _moment(text: str) -> int:
    found = epoch_ms(text)
    if not 0 <= found <= LATEST_MS:
        raise ValueError(f"{text} is no time of an alert")
    return found


def _name(record: Mapping[str, Any], field: str) -> str:
    value = record[field]
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or "\0" in value:
        raise ValueError(f"{field} is not a name")
    return value


@dataclass(frozen=True, slots=True)
class Wishes:
    """What an outlet wants to hear of."""

    kinds: tuple[str, ...] = ("*",)  # shell patterns
    meters: tuple[str, ...] = ("*",)
    severe_only: bool = False
    quiet_ms: int = 0
    oldest_ms: int = 86_400_000  # news of an unknown alert that happened longer ago is no news

    def include(self, told: Told) -> bool:
        return (
            _matches(told.kind, self.kinds)
            and _matches(told.meter, self.meters)
            and (told.severe or not self.severe_only)
        )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Heard:
    """One state of an alert as an outlet has it; `root` is the state that began the same story, if not this one."""

    alert: str
    state: State
    status: Status
    severe: bool = False
    ended: int | None = None
    root: str | None = None

    @property
    def key(self) -> str:
        return key_of(self.alert, self.state)


@dataclass(frozen=True, slots=True)
class News:
    """What to keep for an outlet: a state to send now, to send after the quiet period, or not to send at all."""

    state: State
    status: Status = Status.WAITING
    held: bool = False
    root: str | None = None
    silenced: tuple[str, ...] = ()  # keys of ends that waited for the quiet period and are not true any more


def key_of(alert: str, state: State) -> str:
    """Names one state of one alert for good: receivers tell a repeat by it."""
    return f"{alert}.{state}"


def news(
    told: Told, own: Mapping[State, Heard], before: Heard | None, wishes: Wishes, now: int
) -> News | None:
    """What the outlet should hear of this alert.

    `own` is what it has of the alert itself, `before` the latest end of another alert of the same meter, kind and
    part that ended before this one started.
    """
    if own:
        return _more(told, own, wishes)
    if told.withdrawn or not wishes.include(told) or now - told.moment > wishes.oldest_ms:
        return None
    state = State.OPENED if told.ended is None else State.ENDED
    if before is None or not _came_back(told, before, wishes):
        return News(state)
    if before.status is Status.WAITING:
        root = before.root or before.key
        if state is State.OPENED:  # for whoever was told of the former it never ended
            return News(state, Status.QUIET, root=root, silenced=(before.key,))
        return News(state, held=True, root=root, silenced=(before.key,))
    # The former end is out. Something that is over already is more of the same; something that lasts is news.
    return News(state, Status.QUIET) if state is State.ENDED else News(state)


def _came_back(told: Told, before: Heard, wishes: Wishes) -> bool:
    return before.ended is not None and 0 <= told.started - before.ended < wishes.quiet_ms


def _more(told: Told, own: Mapping[State, Heard], wishes: Wishes) -> News | None:
    """The next state of an alert that the outlet has heard of."""
    if State.WITHDRAWN in own:
        return None
    first = own.get(State.OPENED) or own.get(State.ENDED) or next(iter(own.values()))
    root = first.root or first.key
    if told.withdrawn:
        end = own.get(State.ENDED)
        waits = end is not None and end.status is Status.WAITING
        unheard = all(each.status is Status.QUIET and each.root is None for each in own.values())
        silenced = (end.key,) if end is not None and waits and end is not first else ()
        return None if unheard else News(State.WITHDRAWN, root=root, silenced=silenced)
    if State.ENDED in own:
        return None
    if told.ended is not None:
        return News(State.ENDED, held=wishes.quiet_ms > 0, root=root)
    if told.severe and not any(each.severe for each in own.values()):
        return News(State.SEVERE, root=root)
    return None
