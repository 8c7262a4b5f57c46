"""When simulated time happens: history first, as fast as it goes or at a speed, then live with the clock.

The clock is given as a function, so that tests can turn it; nothing is sent here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from strom.devices.simulator.fleet import Fleet, Push
from strom.errors import StromError

FOREVER_MS = 1 << 53
CAUGHT_UP_MS = 2_000  # history closer to now than this is left to the live pushes

Clock = Callable[[], int]  # epoch ms


class Due(NamedTuple):
    """A push and the moment of the clock at which it is sent; 0 is at once."""

    at_ms: int
    push: Push


@dataclass(frozen=True)
class Timeline:
    """From when to when, how densely and how fast."""

    interval_s: float = 5.0
    start_ms: int | None = None  # None is now
    until_ms: int | None = None  # simulated time; None goes on for ever
    live_s: float | None = None  # or: so long by the clock, after a history sent at once
    speed: float | None = None  # of history; None is as fast as it goes
    history_interval_s: float = 60.0

    def __post_init__(self) -> None:
        for name, seconds in (("interval", self.interval_s), ("history interval", self.history_interval_s)):
            if not 1 <= seconds <= 3600:
                raise StromError(f"An {name} of {seconds:g} s is none that adapters have; choose 1 to 3600.")
        if self.speed is not None and self.speed <= 0:
            raise StromError(f"A speed of {self.speed:g} goes nowhere; choose one above 0, such as 60.")

    def pushes(self, fleet: Fleet, clock: Clock) -> Iterator[Due]:
        """Everything there is to send, in order; never ends when there is no end set."""
        now = clock()
        start = now if self.start_ms is None else self.start_ms
        if start > now:
            raise StromError(
                "The start lies in the future: choose a past one, for meters cannot know it yet."
            )
        if self.start_ms is not None and self.speed is not None:
            return self._at_speed(fleet, start, now)
        return self._at_once(fleet, start, clock)

    def _at_once(self, fleet: Fleet, start: int, clock: Clock) -> Iterator[Due]:
        reached, limit = start, FOREVER_MS if self.until_ms is None else self.until_ms
        while (now := min(clock(), limit)) - reached > CAUGHT_UP_MS:
            for push in fleet.readings(reached, now, self.history_interval_s, history=True):
                yield Due(0, push)
            reached = now
        yield from self._live(fleet, reached, limit)

    def _at_speed(self, fleet: Fleet, start: int, now: int) -> Iterator[Due]:
        """Simulated time runs `speed` times as fast as the clock until it has caught up with it."""
        speed = self.speed or 1.0
        behind = now - start
        meet = round(now + behind / (speed - 1)) if speed > 1 else FOREVER_MS
        limit = self._limit(round(start + (self.live_s or 0) * 1000 * speed))
        for push in fleet.readings(start, min(meet, limit), self.interval_s, history=True):
            yield Due(round(now + (push.publish_ms - start) / speed), push)
        if meet < limit:
            left = None if self.live_s is None else round(now + self.live_s * 1000)
            yield from _live(fleet, meet, self.until_ms if left is None else left, self.interval_s)

    def _live(self, fleet: Fleet, reached: int, limit: int) -> Iterator[Due]:
        end = self._limit(round(reached + (self.live_s or 0) * 1000))
        yield from _live(fleet, reached, min(limit, end), self.interval_s)

    def _limit(self, by_duration: int) -> int:
        ends = [FOREVER_MS]
        if self.until_ms is not None:
            ends.append(self.until_ms)
        if self.live_s is not None:
            ends.append(by_duration)
        return min(ends)


def _live(fleet: Fleet, start: int, end: int | None, interval_s: float) -> Iterator[Due]:
    for push in fleet.readings(start, FOREVER_MS if end is None else end, interval_s):
        yield Due(push.publish_ms, push)
