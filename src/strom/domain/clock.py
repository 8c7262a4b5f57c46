"""Whether a meter's clock is right, told by when its readings arrived: by ten-minute windows of arrivals.

A clock is wrong in a window when no reading in it told the right time: all told an impossible one, or all were off by
about as much while they kept coming. History that is filled in at once, or late, is off by ever less and no wrong clock.
A window is a function of the set of readings in it, and two parts of one can be joined in any order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from strom.domain.alerts import CLOCK, WINDOW_MS, Alert, span_text

PACE_MS = 60_000  # a clock that is wrong is off by the same, give or take this, for at least twice this time


@dataclass(frozen=True, slots=True)
class ClockWindow:
    """Arrivals of readings with a time of their own, how far behind that was (ms), and whether an impossible one came."""

    start: int
    first: int | None
    last: int | None
    least: int | None
    most: int | None
    impossible: bool

    def __add__(self, other: "ClockWindow") -> "ClockWindow":
        return ClockWindow(
            self.start,
            _of(min, self.first, other.first),
            _of(max, self.last, other.last),
            _of(min, self.least, other.least),
            _of(max, self.most, other.most),
            self.impossible or other.impossible,
        )

    @property
    def behind_ms(self) -> int | None:
        """How far the clock is behind (ahead where negative), by the reading that is nearest to right."""
        if self.least is None or self.most is None:
            return None
        if self.least <= 0 <= self.most:
            return 0
        return self.least if self.least > 0 else self.most

    def is_wrong(self, limit_ms: int) -> bool:
        behind = self.behind_ms
        if behind is None or self.first is None or self.last is None:
            return self.impossible
        assert self.least is not None and self.most is not None  # noqa: S101, PT018 - all four or none
        kept_pace = self.most - self.least <= PACE_MS and self.last - self.first >= 2 * PACE_MS
        return abs(behind) > limit_ms and kept_pace


def clock_alerts(
    meter: str, windows: Iterable[ClockWindow], current: int, limit_ms: int, timezone: str
) -> list[Alert]:
    """Neighbouring windows with a wrong clock are one alert, open while the last one touches the current window."""
    wrong = sorted(
        (window for window in windows if window.start < current and window.is_wrong(limit_ms)),
        key=lambda window: window.start,
    )
    runs: list[list[ClockWindow]] = []
    for window in wrong:
        if runs and runs[-1][-1].start + WINDOW_MS == window.start:
            runs[-1].append(window)
        else:
            runs.append([window])
    return [_alert(meter, run, current, limit_ms, timezone) for run in runs]


def _alert(meter: str, run: Sequence[ClockWindow], current: int, limit_ms: int, timezone: str) -> Alert:
    end = run[-1].start + WINDOW_MS
    ended = None if end == current else end
    off = max((behind for window in run if (behind := window.behind_ms) is not None), key=abs, default=None)
    verb = "is" if ended is None else "was"
    if off is None:
        tells = "tells cannot" if ended is None else "told could not"
        what = f"the time it {tells} be, so that of arrival counts"
    else:
        sides = "behind" if off > 0 else "ahead"
        what = f"it {verb} {_long(abs(off))} {sides}, so readings stand at the wrong time"
    text = f"The clock of {meter} {verb} wrong {span_text(run[0].start, ended, timezone)}: {what}."
    value = None if off is None else off / 1000
    return Alert(meter, CLOCK, "", run[0].start, ended, value, limit_ms / 1000, False, text)


def _long(ms: int) -> str:
    minutes = round(ms / 60_000)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{round(minutes / 60)} hours" if minutes < 2880 else f"{round(minutes / 1440)} days"


def _of(pick: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return pick(one, other)
