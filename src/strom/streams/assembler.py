"""Puts parts together as they are read, in bounded memory; tells what could not become whole, and where it began.

It reads nothing itself and knows no clock: whoever reads gives it each part with its place and the time. It never
hands out a value that does not fit its digest.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from strom.metrics import counter
from strom.streams.chunks import BadPartsError, Part, Pieces, join, put

Place = tuple[str, int]  # topic and partition
_ROOM_OF_A_PART = 200  # what keeping one takes beside its bytes
_REMEMBERED = 10_000  # ids of messages that are over, so that a repeated part does not begin one anew
_LOOK_SECONDS = 1.0


def room_of(size: int, limit: int) -> int:
    """What a message of so many bytes takes while its parts of at most `limit` bytes are held."""
    return size + -(-size // limit) * _ROOM_OF_A_PART


class Why(Enum):
    MISSING = "missing"  # no more parts came
    MIXED = "mixed"  # parts that do not belong together, or a header that no part has
    NO_ROOM = "no-room"  # the memory for parts was full


@dataclass(frozen=True)
class Trouble:
    """A message that was left out."""

    why: Why
    place: Place
    first_offset: int  # of what was seen of it
    last_offset: int
    what: str

    def __str__(self) -> str:
        topic, partition = self.place
        return f"The message in parts at {topic}/{partition}/{self.first_offset} was left out: {self.what}."


@dataclass
class PartCounters:
    whole: int = counter("Messages put together from parts.")
    repeated: int = counter("Parts that had come before.")
    missing: int = counter("Messages left out because parts did not come.")
    mixed: int = counter("Messages left out because their parts did not belong together.")
    no_room: int = counter("Messages left out because the memory for parts was full.")


@dataclass
class _Unfinished:
    part: Part  # the first that came
    began: int  # a running number: the lowest is the oldest
    first_offset: int
    last_offset: int = 0
    touched: float = 0.0
    pieces: Pieces = field(default_factory=dict)
    room: int = 0

    @property
    def lacks(self) -> str:
        return f"{self.part.count - len(self.pieces)} of its {self.part.count} parts"


class Assembler:
    def __init__(
        self,
        *,
        most_bytes: int,
        most_messages: int,
        wait_seconds: float,
        on_trouble: Callable[[Trouble], None],
    ) -> None:
        self.counters = PartCounters()
        self.room = 0  # taken by the parts that are held
        self._most_bytes = most_bytes
        self._most_messages = most_messages
        self._wait_seconds = wait_seconds
        self._on_trouble = on_trouble
        # In the order in which they began: per place that is the order of their first offsets.
        self._open: dict[Place, dict[str, _Unfinished]] = {}
        self._held = 0
        self._began = 0
        self._over: OrderedDict[tuple[Place, str], None] = OrderedDict()
        self._look_at = 0.0

    def add(self, place: Place, offset: int, part: Part, piece: bytes, now: float) -> bytes | None:
        """The whole value, if this part was the last that it lacked."""
        if (place, part.id) in self._over:
            self.counters.repeated += 1
            return None
        message = self._message(place, offset, part)
        try:
            if not self._take(message, offset, part, piece, now):
                return None
            value = join(message.pieces.values())
        except BadPartsError as error:
            self._give_up(place, message, Why.MIXED, error.what)
            return None
        self._close(place, message)
        self.counters.whole += 1
        return value

    def refuse(self, place: Place, offset: int, what: str) -> None:
        """A record that says it is a part, and cannot be one."""
        self.counters.mixed += 1
        self._on_trouble(Trouble(Why.MIXED, place, offset, offset, what))

    def expire(self, now: float) -> None:
        """Give up what has waited in vain; cheap, to be called often."""
        if not self._held or now < self._look_at:
            return
        self._look_at = now + _LOOK_SECONDS
        for place, message in self._all():
            if now - message.touched >= self._wait_seconds:
                self._give_up(place, message, Why.MISSING, f"{message.lacks} did not come")

    def finish(self) -> None:
        """Nothing more will come: tell what is left."""
        for place, message in self._all():
            self._give_up(place, message, Why.MISSING, f"{message.lacks} are not there")

    def floor(self, place: Place) -> int | None:
        """The first offset of the oldest message of this partition that lacks parts."""
        unfinished = self._open.get(place)
        return next(iter(unfinished.values())).first_offset if unfinished else None

    def forget(self, place: Place) -> None:
        """Reading goes on elsewhere in this partition: what was seen of it will be seen again, or is another's."""
        for message in [*self._open.get(place, {}).values()]:
            self._close(place, message)
        for key in [key for key in self._over if key[0] == place]:
            del self._over[key]

    def _message(self, place: Place, offset: int, part: Part) -> _Unfinished:
        unfinished = self._open.setdefault(place, {})
        if part.id not in unfinished:
            self._began += 1
            self._held += 1
            unfinished[part.id] = _Unfinished(part, self._began, offset)
        return unfinished[part.id]

    def _take(self, message: _Unfinished, offset: int, part: Part, piece: bytes, now: float) -> bool:
        """Whether the message has all its parts now."""
        message.last_offset, message.touched = offset, now
        if not put(message.pieces, part, piece):
            self.counters.repeated += 1
            return False
        message.room += len(piece) + _ROOM_OF_A_PART
        self.room += len(piece) + _ROOM_OF_A_PART
        if len(message.pieces) == part.count:
            return True
        self._make_room()
        return False

    def _make_room(self) -> None:
        while self.room > self._most_bytes or self._held > self._most_messages:
            place, oldest = min(self._oldest(), key=lambda each: each[1].began)
            full = f"{oldest.lacks} had not come when the memory for parts was full"
            self._give_up(place, oldest, Why.NO_ROOM, full)

    def _oldest(self) -> list[tuple[Place, _Unfinished]]:
        return [(place, next(iter(messages.values()))) for place, messages in self._open.items()]

    def _all(self) -> list[tuple[Place, _Unfinished]]:
        return [(place, message) for place, messages in self._open.items() for message in messages.values()]

    def _give_up(self, place: Place, message: _Unfinished, why: Why, what: str) -> None:
        self._close(place, message)
        name = why.name.lower()
        setattr(self.counters, name, getattr(self.counters, name) + 1)
        self._on_trouble(Trouble(why, place, message.first_offset, message.last_offset, what))

    def _close(self, place: Place, message: _Unfinished) -> None:
        messages = self._open[place]
        del messages[message.part.id]
        if not messages:
            del self._open[place]
        self._held -= 1
        self.room -= message.room
        self._over[place, message.part.id] = None
        if len(self._over) > _REMEMBERED:
            self._over.popitem(last=False)
