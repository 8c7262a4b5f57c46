"""What every meter does now, in memory and bounded: the latest reading, an hour of points, who is silent.

Pure: it is fed with readings and told the time. It must not know Kafka, HTTP or Postgres.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from strom.domain.reading import Reading, epoch_ms
from strom.serve.curve import WINDOW_MS, FleetCurve, MeterCurve, Point, Power

# A reading that took longer than this from the meter to Strom is history: it goes to its place in the curve
# and says nothing about now.
HISTORY_MS = 300_000
# A meter's clock may be a little ahead of ours; beyond this its points are drawn when they came.
AHEAD_MS = 2_000
MOST_POINTS = 2_000_000  # over all meters: 64 MB
LEAST_POINTS = 180  # of each meter, whatever their number
_DISTANCES = 9  # the push interval is the median of the last so many distances
_LONGEST_PUSH_MS = 5_400_000  # no meter pushes less often than hourly: a longer distance is an outage


@dataclass
class MeterState:
    """One meter: its newest reading and its curve."""

    name: str
    curve: MeterCurve
    reading: Reading = field(default_factory=dict)
    at_ms: int = 0
    received_ms: int = 0
    published_ms: int | None = None
    interval_ms: float | None = None
    live_until_ms: int = 0  # silent after that

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

    def __init__(self, silent_after: Callable[[str], tuple[int, int]] = lambda _: (3, 90)) -> None:
        """`silent_after`: after how many pushes, and at least seconds, a meter is silent."""
        self._silent_after = silent_after
        self._fleet = FleetCurve()
        self._published_ms: int | None = None
        self.meters: dict[str, MeterState] = {}
        self.readings = 0  # taken so far, without repeated ones

    def add(self, reading: Reading, published_ms: int | None = None) -> bool:
        """Take one reading; False for one that was seen before or lies before the window."""
        at, received = epoch_ms(reading["at"]), epoch_ms(reading["received"])
        state = self._state(str(reading["meter"]))
        drawn_at = received if at > received + AHEAD_MS else at
        self._observe_interval(state, drawn_at)
        until = self._held_until(state, drawn_at, received)
        power = Power.of(reading.get("import_w"), reading.get("export_w"))
        new = at > state.at_ms if power is None else state.curve.add(drawn_at, power, until)
        if new:
            self.readings += 1
        if new and at >= state.at_ms:
            state.reading, state.at_ms, state.received_ms = reading, at, received
            state.published_ms, state.live_until_ms = published_ms, until
            self._published_ms = max(self._published_ms or 0, published_ms or 0) or None
        return new

    def advance(self, now_ms: int) -> None:
        """Forget what lies before the window; to be called every now and then."""
        self._fleet.advance(now_ms)
        most = max(LEAST_POINTS, MOST_POINTS // max(1, len(self.meters)))
        for state in self.meters.values():
            state.curve.trim(now_ms - WINDOW_MS, most)

    def fleet(self, now_ms: int) -> FleetNow:
        """Sums over the meters that are not silent."""
        drawn = fed = telling = live = drawing = feeding = 0
        for state in self.meters.values():
            live += state.is_live(now_ms)
            power = state.power(now_ms)
            if power is not None:
                telling += 1
                drawn += power.import_mw
                fed += power.export_mw
                drawing += power.import_mw > power.export_mw
                feeding += power.import_mw < power.export_mw
        return FleetNow(
            at_ms=now_ms,
            import_w=drawn / 1000 if telling else None,
            export_w=fed / 1000 if telling else None,
            meters=len(self.meters),
            live=live,
            drawing=drawing,
            feeding=feeding,
            published_ms=self._published_ms,
        )

    def fleet_points(self, from_ms: int, to_ms: int) -> list[tuple[int, float | None, int]]:
        return self._fleet.points(from_ms, to_ms)

    def meter_points(self, name: str, from_ms: int, to_ms: int) -> list[Point]:
        state = self.meters.get(name)
        return state.curve.points(from_ms, to_ms) if state else []

    def _state(self, name: str) -> MeterState:
        state = self.meters.get(name)
        if state is None:
            state = self.meters[name] = MeterState(name, MeterCurve(self._fleet))
        return state

    def _held_until(self, state: MeterState, at: int, received: int) -> int:
        """Until when a value may stand for now; one that came late may be held only from its own time."""
        hold = self._hold_ms(state)
        return at + hold if received - at > HISTORY_MS else received + hold

    def _hold_ms(self, state: MeterState) -> int:
        pushes, seconds = self._silent_after(state.name)
        return max(seconds * 1000, round(pushes * (state.interval_ms or 0)))

    def _observe_interval(self, state: MeterState, then_ms: int) -> None:
        distances = state.curve.distances(_DISTANCES, then_ms)
        usual = [distance for distance in distances if distance <= _LONGEST_PUSH_MS]
        if usual:
            state.interval_ms = statistics.median_low(usual)
