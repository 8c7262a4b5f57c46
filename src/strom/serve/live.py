"""What every meter does now, in memory and bounded: the latest reading, an hour of points, who is silent.

Pure: it is fed with readings and told the time. It must not know Kafka, HTTP or Postgres.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import orjson

from strom.domain.reading import Reading
from strom.serve.curve import WINDOW_MS, FleetCurve, MeterCurve, Point, Power
from strom.serve.records import LiveReading, live_reading
from strom.serve.totals import FleetTotals

# A reading that took longer than this from the meter to Strom is history: it goes to its place in the curve
# and says nothing about now.
HISTORY_MS = 300_000
# A meter's clock may be a little ahead of ours; beyond this its points are drawn when they came.
AHEAD_MS = 2_000
MOST_POINTS = 4_000_000  # over all meters: 80 MB
LEAST_POINTS = 180  # of each meter, whatever their number
_TRIMMED_AT_ONCE = 2_000  # meters; a fleet of 100,000 is gone through in 50 calls
_DISTANCES = 9  # the push interval is the median of the last so many distances
_LONGEST_PUSH_MS = 5_400_000  # no meter pushes less often than hourly: a longer distance is an outage

SilentAfter = tuple[int, int]  # pushes, seconds


class MeterState:
    """One meter: its newest reading and its curve. A fleet has many of them: no dict, one object a fact."""

    __slots__ = (
        "at_ms", "counted", "counted_live", "curve", "due_s", "frequent", "last_interval_ms", "latest",
        "live_until_ms", "meter_number", "name", "published_ms", "received_ms", "silent_after", "sort_key",
    )  # fmt: skip

    def __init__(self, name: str, curve: MeterCurve, silent_after: SilentAfter) -> None:
        self.name = name
        self.sort_key = natural(name)
        self.curve = curve
        self.silent_after = silent_after
        self.latest: bytes | Reading = {}  # bytes are read when somebody looks
        self.meter_number = ""
        self.at_ms = 0
        self.received_ms = 0
        self.published_ms: int | None = None
        self.last_interval_ms: int | None = None
        self.frequent = (
            False  # so many pushes take less time than the seconds after which any meter is silent
        )
        self.live_until_ms = 0  # silent after that
        self.counted: Power | None = None
        self.counted_live = False
        self.due_s = 0

    @property
    def reading(self) -> Reading:
        latest = self.latest
        if isinstance(latest, bytes):
            found: Reading = orjson.loads(latest)
            return found
        return latest

    @property
    def interval_ms(self) -> int | None:
        """The push interval as observed."""
        return _usual(self.curve.distances(_DISTANCES)) or self.last_interval_ms

    @property
    def power_until_ms(self) -> int:
        return self.curve.last_end

    def is_live(self, now_ms: int) -> bool:
        return now_ms < self.live_until_ms

    def power(self, now_ms: int) -> Power | None:
        """What it draws and feeds in now; None when silent or when it sends no power."""
        return self.curve.last if now_ms < self.curve.last_end else None


@dataclass(frozen=True)
class FleetNow:
    """The fleet at one moment. Watts are None when no meter tells its power."""

    at_ms: int
    import_w: float | None
    export_w: float | None
    meters: int
    live: int
    drawing: int
    feeding: int
    published_ms: int | None

    @property
    def net_w(self) -> float | None:
        return None if self.import_w is None or self.export_w is None else self.import_w - self.export_w


class LiveState:
    """The fleet as the readings tell it: ordered by the meters' own time, a repeated reading counts once."""

    def __init__(self, silent_after: Callable[[str], SilentAfter] = lambda _: (3, 90)) -> None:
        """`silent_after`: after how many pushes, and at least seconds, a meter is silent."""
        self._silent_after = silent_after
        self._rules: dict[SilentAfter, SilentAfter] = {}  # meters of the same rules share them
        self._fleet = FleetCurve()
        self._totals = FleetTotals()
        self._published_ms = 0
        self._to_trim: Iterator[MeterState] = iter(())
        self._by_name: list[MeterState] = []
        self.meters: dict[str, MeterState] = {}
        self.readings = 0  # taken so far, without repeated ones

    def add(self, reading: Reading, published_ms: int | None = None) -> bool:
        """Take one reading; False for one that was seen before or lies before the window."""
        return self.take(live_reading(reading, published_ms=published_ms))

    def take(self, new: LiveReading) -> bool:
        """The same for one that was read before."""
        state = self.meters.get(new.meter) or self._known(new.meter)
        at, received, curve = new.at_ms, new.received_ms, state.curve
        drawn_at = received if at > received + AHEAD_MS else at
        pushes, seconds = state.silent_after
        hold = seconds * 1000
        if not state.frequent or curve.disordered or not 0 < (drawn_at - curve.last_at) * pushes <= hold:
            # Else the interval stays small: one more short distance replaces one of any length.
            interval = _usual(curve.distances(_DISTANCES, drawn_at))
            curve.disordered = False
            if interval is not None:
                state.last_interval_ms = interval
            state.frequent = interval is not None and interval * pushes <= hold
            hold = max(hold, pushes * (state.last_interval_ms or 0))
        # A value stands for now; one that came late may be held only from its own time.
        until = at + hold if received - at > HISTORY_MS else received + hold
        if new.power is None:
            taken = at > state.at_ms
        elif (taken := curve.add(drawn_at, new.power, until)) and curve.last is new.power:
            self._totals.set_power(state, new.power, curve.last_end)
        if taken:
            self.readings += 1
            if at >= state.at_ms:
                self._set_latest(state, new, until)
        return taken

    def _set_latest(self, state: MeterState, new: LiveReading, until: int) -> None:
        state.latest, state.at_ms, state.received_ms = new.body, new.at_ms, new.received_ms
        state.published_ms, state.live_until_ms = new.published_ms, until
        if new.meter_number != state.meter_number:
            state.meter_number = new.meter_number
        if new.published_ms and new.published_ms > self._published_ms:
            self._published_ms = new.published_ms
        self._totals.set_live(state)

    def advance(self, now_ms: int) -> None:
        """Forget what lies before the window; to be called every second: of a large fleet, some meters each time."""
        self._fleet.advance(now_ms)
        self._totals.expire(now_ms)
        most = max(LEAST_POINTS, MOST_POINTS // max(1, len(self.meters)))
        if not (some := list(islice(self._to_trim, _TRIMMED_AT_ONCE))):
            self._to_trim = iter(list(self.meters.values()))
            some = list(islice(self._to_trim, _TRIMMED_AT_ONCE))
        for state in some:
            state.curve.trim(now_ms - WINDOW_MS, most)
            state.frequent = state.frequent and len(state.curve) > _DISTANCES

    def fleet(self, now_ms: int) -> FleetNow:
        """Sums over the meters that are not silent."""
        totals = self._totals
        totals.expire(now_ms)
        return FleetNow(
            at_ms=now_ms,
            import_w=totals.import_mw / 1000 if totals.telling else None,
            export_w=totals.export_mw / 1000 if totals.telling else None,
            meters=len(self.meters),
            live=totals.live,
            drawing=totals.drawing,
            feeding=totals.feeding,
            published_ms=self._published_ms or None,
        )

    def fleet_points(self, from_ms: int, to_ms: int) -> list[tuple[int, float | None, int]]:
        return self._fleet.points(from_ms, to_ms)

    def meter_points(self, name: str, from_ms: int, to_ms: int) -> list[Point]:
        state = self.meters.get(name)
        return state.curve.points(from_ms, to_ms) if state else []

    def by_name(self) -> list[MeterState]:
        """All meters in the order of their names, numbers in them by size; not to be changed."""
        if len(self._by_name) != len(self.meters):
            self._by_name = sorted(self.meters.values(), key=lambda state: state.sort_key)
        return self._by_name

    def _known(self, name: str) -> MeterState:
        rules = self._silent_after(name)
        state = MeterState(name, MeterCurve(self._fleet), self._rules.setdefault(rules, rules))
        self.meters[name] = state
        return state


def _usual(distances: list[int]) -> int | None:
    """The push interval: the median without outages."""
    usual = sorted(distance for distance in distances if distance <= _LONGEST_PUSH_MS)
    return usual[(len(usual) - 1) // 2] if usual else None


def natural(name: str) -> str:
    """A key that sorts `Flat 2` before `Flat 12`: before each number stands how long it is."""
    key = re.sub("[0-9]+", lambda found: _number_key(found[0]), name.casefold())
    return f"1{key}" if name[:1].isdecimal() else f"0{key}"


def _number_key(digits: str) -> str:
    plain = digits.lstrip("0")
    return f"\0{chr(len(plain))}{plain}\0{chr(len(digits))}" if len(digits) < 0xD800 else digits
