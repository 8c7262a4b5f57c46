"""Alerts: what is worth a person's attention, with a sentence a householder understands.

Pure functions of what was observed: the same event has the same id and the same words, however often it is found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

SILENT = "silent"
VOLTAGE = "voltage"
PHASE_LOSS = "phase-loss"
COUNTER_BACK = "counter-back"
JUMP = "jump"
SPIKE = "spike"
OVERLOAD = "overload"
CLOCK = "clock"
NIGHT_LOAD = "night-load"
NO_EXPORT = "no-export-by-day"
KINDS = (
    SILENT, VOLTAGE, PHASE_LOSS, COUNTER_BACK, JUMP, SPIKE, OVERLOAD, CLOCK, NIGHT_LOAD, NO_EXPORT,
)  # fmt: skip

WINDOW_MS = 600_000  # voltage is judged by means over ten minutes


@dataclass(frozen=True, slots=True)
class Alert:
    """Times are epoch ms; `part` is the phase or the direction; `value` and `threshold` are in the kind's unit."""

    meter: str
    kind: str
    part: str
    started: int
    ended: int | None
    value: float | None
    threshold: float
    severe: bool
    text: str

    @property
    def id(self) -> str:
        name = "\x1f".join((self.meter, self.kind, self.part, str(self.started)))
        return sha256(name.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class VoltageBounds:
    low_mv: int
    high_mv: int
    severe_low_mv: int
    severe_high_mv: int


@dataclass(frozen=True, slots=True)
class VoltageMean:
    """The mean of a phase over the window that begins at `start`, as sum and count: exact until it is shown."""

    start: int
    sum_mv: int
    samples: int

    @property
    def volts(self) -> float:
        return round(self.sum_mv / self.samples / 1000, 1)

    def side(self, bounds: VoltageBounds) -> int:
        """-1 too low, 1 too high, 0 within the bounds."""
        if self.sum_mv < bounds.low_mv * self.samples:
            return -1
        return 1 if self.sum_mv > bounds.high_mv * self.samples else 0

    def is_severe(self, bounds: VoltageBounds) -> bool:
        low, high = bounds.severe_low_mv * self.samples, bounds.severe_high_mv * self.samples
        return not low <= self.sum_mv <= high


def window_of(at_ms: int) -> int:
    return at_ms - at_ms % WINDOW_MS


def counter_back(
    meter: str, direction: str, at: int, fallen_mwh: int, noise_mwh: int, timezone: str
) -> Alert:
    wh = fallen_mwh / 1000
    text = (
        f"The {direction} counter of {meter} fell by {fallen_mwh / 1_000_000:.3f} kWh at {clock_text(at, timezone)}: "
        "was the meter changed?"
    )
    return Alert(meter, COUNTER_BACK, direction, at, at, wh, noise_mwh / 1000, False, text)


def jump(meter: str, direction: str, at: int, grown_mwh: int, most_mwh: int, timezone: str) -> Alert:
    text = (
        f"The {direction} counter of {meter} jumped by {grown_mwh / 1_000_000:.3f} kWh at "
        f"{clock_text(at, timezone)}, where its connection can carry {most_mwh / 1_000_000:.3f} kWh: "
        "a faulty reading, or was the meter changed?"
    )
    return Alert(meter, JUMP, direction, at, at, grown_mwh / 1000, most_mwh / 1000, False, text)


def voltage_alerts(
    meter: str, phase: str, means: Iterable[VoltageMean], current: int, bounds: VoltageBounds, timezone: str
) -> list[Alert]:
    """Neighbouring windows on the same wrong side are one alert; open while the last one touches the current window."""
    bad = sorted(
        (mean for mean in means if mean.start < current and mean.side(bounds)), key=lambda mean: mean.start
    )
    runs: list[list[VoltageMean]] = []
    for mean in bad:
        if (
            runs
            and runs[-1][-1].start + WINDOW_MS == mean.start
            and runs[-1][-1].side(bounds) == mean.side(bounds)
        ):
            runs[-1].append(mean)
        else:
            runs.append([mean])
    return [_voltage_alert(meter, phase, run, current, bounds, timezone) for run in runs]


def _voltage_alert(
    meter: str, phase: str, run: Sequence[VoltageMean], current: int, bounds: VoltageBounds, timezone: str
) -> Alert:
    low = run[0].side(bounds) < 0
    worst = min(run, key=lambda mean: mean.sum_mv / mean.samples * (1 if low else -1))
    end = run[-1].start + WINDOW_MS
    ended = None if end == current else end
    limit = (bounds.low_mv if low else bounds.high_mv) / 1000
    when = span_text(run[0].start, ended, timezone)
    text = (
        f"The voltage on {phase.upper()} of {meter} {'is' if ended is None else 'was'} too "
        f"{'low' if low else 'high'} {when}: "
        f"{worst.volts:g} V in the mean of ten minutes, {'at least' if low else 'at most'} {limit:g} V is right."
    )
    return Alert(
        meter, VOLTAGE, phase, run[0].start, ended, worst.volts, limit, worst.is_severe(bounds), text
    )


def span_text(started: int, ended: int | None, timezone: str) -> str:
    """`since …` or `from … to …`."""
    since = clock_text(started, timezone)
    return f"since {since}" if ended is None else f"from {since} to {clock_text(ended, timezone)}"


def clock_text(at_ms: int, timezone: str) -> str:
    """Local day and time, as people say it."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(ZoneInfo(timezone)).strftime("%d.%m. %H:%M")
