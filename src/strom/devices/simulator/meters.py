"""One simulated meter: what it measures at any moment. It knows nothing of JSON, MQTT or faults."""

import math
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from strom.devices.simulator.days import DAY_MS, day_at
from strom.devices.simulator.noise import PATTERNS, SLOT_MS, Noise, Patterns, patterns
from strom.devices.simulator.premises import DAY_TARIFF, Car, Curve, Kind, Premises, curve

LINE_OHM = 0.25  # of the line to the house: load lowers the voltage, feeding in raises it
EXPORT_POWER_FACTOR = 0.998


def _tangent(power_factor: float) -> float:
    """Reactive over active power."""
    return math.sqrt(1 / power_factor**2 - 1)


PLANT_ANGLE = _tangent(EXPORT_POWER_FACTOR)


class Measurement(NamedTuple):
    """What a meter knows at one moment; fields are named as in a reading, powers by phase are signed."""

    import_wh: float
    export_wh: float
    import_t1_wh: float
    import_t2_wh: float
    reactive_import_varh: float
    reactive_export_varh: float
    import_w: float
    export_w: float
    reactive_import_var: float
    reactive_export_var: float
    voltage_l1_v: float
    voltage_l2_v: float
    voltage_l3_v: float
    current_l1_a: float
    current_l2_a: float
    current_l3_a: float
    power_factor: float
    frequency_hz: float


@dataclass(frozen=True)
class Wiring:
    """How the meter sits in its grid."""

    volts: tuple[float, float, float]
    shares: tuple[float, float, float]  # of the household's load by phase
    power_factor: float
    inductive: bool  # draws reactive power; otherwise it delivers some, as chargers and lamps do


@dataclass
class Meter:
    """`measure` gives the same for the same moment, whatever was asked before."""

    index: int
    premises: Premises
    wiring: Wiring
    noise: Noise
    step_ms: int  # how long its power stays the same
    offset_ms: int  # when its steps begin; pushes fall on the steps, so shown power and counters agree
    import_start_wh: float
    export_start_wh: float
    _patterns: Patterns = field(init=False, repr=False)
    _house_angle: float = field(init=False, repr=False)
    _day: int = field(init=False, repr=False, default=-1)
    _curve: Curve = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._patterns = patterns(self.step_ms)
        self._house_angle = _tangent(self.wiring.power_factor)

    def measure(self, time_ms: int) -> Measurement:
        """All registers at this moment; energy is the exact integral of power since the meter began."""
        slot, in_slot = divmod(time_ms - self.offset_ms, SLOT_MS)
        step, rest_ms = divmod(in_slot, self.step_ms)
        day, quarter = divmod(slot, 96)
        if day != self._day:
            self._curve, self._day = curve(self.premises, self.noise, day), day
        now = self._curve
        if now.solar[quarter]:
            return self._feeding_out(now, slot, quarter, step, rest_ms)
        return self._taking_in(now, slot, quarter, step, rest_ms)

    def _feeding_out(self, now: Curve, slot: int, quarter: int, step: int, rest_ms: int) -> Measurement:
        shine = self._patterns.sunshine[(slot + self.premises.salt) & (PATTERNS - 1)]
        watts = now.solar[quarter] * shine.factor[step]
        exported = (
            now.export_before[quarter] + now.solar[quarter] * shine.before[step] + watts * rest_ms / 3_600_000
        )
        return self._registers(
            now, slot, quarter, now.import_before[quarter], exported, 0.0, watts, (-watts / 3,) * 3
        )

    def _taking_in(self, now: Curve, slot: int, quarter: int, step: int, rest_ms: int) -> Measurement:
        pick = (slot * 5 + self.premises.salt) & (PATTERNS - 1)
        people = self._patterns.household[pick]
        charging = now.car[quarter]
        watts = now.household[quarter] * people.factor[step] + charging
        used = now.import_before[quarter] + now.household[quarter] * people.before[step]
        used += charging * step * self.step_ms / 3_600_000
        if now.heating[quarter]:
            heat = self._patterns.heating[pick]
            watts += now.heating[quarter] * heat.factor[step]
            used += now.heating[quarter] * heat.before[step]
        used += watts * rest_ms / 3_600_000
        return self._registers(
            now,
            slot,
            quarter,
            used,
            now.export_before[quarter],
            watts,
            0.0,
            self._by_phase(watts - charging, charging),
        )

    def _by_phase(self, household: float, charging: float) -> tuple[float, float, float]:
        one, two, three = self.wiring.shares
        if not charging:
            return household * one, household * two, household * three
        if charging < 4000:  # a car on one phase
            return household * one + charging, household * two, household * three
        charging /= 3
        return household * one + charging, household * two + charging, household * three + charging

    def _registers(
        self,
        now: Curve,
        slot: int,
        quarter: int,
        used: float,
        exported: float,
        taking: float,
        feeding: float,
        phases: tuple[float, float, float],
    ) -> Measurement:
        wiring = self.wiring
        factor = EXPORT_POWER_FACTOR if feeding else wiring.power_factor
        reactive, reactive_total = self._reactive(taking, feeding, used, exported)
        sway = 3 * self.noise.values[slot & 4095] - 1.5
        one, two, three = phases
        drop = LINE_OHM / 230
        volts_one = wiring.volts[0] + sway - one * drop
        volts_two = wiring.volts[1] + sway - two * drop
        volts_three = wiring.volts[2] + sway - three * drop
        day_wh = used if now.day_before is None else self._day_tariff(now, quarter, used)
        inductive = wiring.inductive
        return Measurement(
            self.import_start_wh + used,
            self.export_start_wh + exported,
            self.import_start_wh + day_wh,
            used - day_wh,
            reactive_total if inductive else 0.0,
            0.0 if inductive else reactive_total,
            taking,
            feeding,
            reactive if inductive else 0.0,
            0.0 if inductive else reactive,
            volts_one,
            volts_two,
            volts_three,
            abs(one) / (volts_one * factor),
            abs(two) / (volts_two * factor),
            abs(three) / (volts_three * factor),
            factor,
            49.98 + 0.04 * self.noise.values[(slot * 7) & 4095],
        )

    def _reactive(self, taking: float, feeding: float, used: float, exported: float) -> tuple[float, float]:
        """Reactive power and energy: each direction keeps its angle, so this counter is an integral too."""
        house, plant = self._house_angle, PLANT_ANGLE
        return house * taking + plant * feeding, house * used + plant * exported

    def _day_tariff(self, now: Curve, quarter: int, used: float) -> float:
        assert now.day_before is not None  # noqa: S101 - the caller has looked
        in_slot = used - now.import_before[quarter]
        return now.day_before[quarter] + (
            in_slot if day_at(self._day).quarters[quarter] in DAY_TARIFF else 0.0
        )


def local_ms(time_ms: int) -> int:
    """Local wall time as if it were UTC, for the clock that some meters show."""
    day, rest = divmod(time_ms, DAY_MS)
    return time_ms + day_at(day).offset_ms[rest // SLOT_MS]


def premises_of(draw: Random, kind: Kind, *, tariffs: bool) -> Premises:
    """Plausible premises: a household takes about 400 W on average, between a third and twice that."""
    home = 9_600 * min(2.2, max(0.35, draw.lognormvariate(-0.08, 0.4)))
    solar = kind in (Kind.SOLAR, Kind.EVERYTHING)
    return Premises(
        kind=kind,
        salt=draw.randrange(1 << 30),
        household_wh=home * (0.6 if solar else 1.0),
        heating_wh=draw.uniform(9_000, 16_000) if kind in (Kind.HEAT_PUMP, Kind.EVERYTHING) else 0.0,
        solar_wh=draw.uniform(8_000, 24_000) if solar else 0.0,
        car=_car(draw) if kind in (Kind.CAR, Kind.EVERYTHING) else None,
        habit=draw.randrange(-4, 6),
        day_share=draw.uniform(0.68, 0.78) if tariffs else None,
    )


def wiring_of(draw: Random, kind: Kind) -> Wiring:
    volts = (draw.uniform(228, 235), draw.uniform(228, 235), draw.uniform(228, 235))
    weights = [draw.uniform(0.4, 1.6) for _ in range(3)]
    one, two, three = (weight / sum(weights) for weight in weights)
    pump = kind in (Kind.HEAT_PUMP, Kind.EVERYTHING)
    return Wiring(volts, (one, two, three), draw.uniform(0.93, 0.985), inductive=pump)


def _car(draw: Random) -> Car:
    watts = draw.choice((3_700, 11_000))
    weekdays = tuple(sorted(draw.sample(range(7), draw.randrange(2, 5))))
    usual = draw.randrange(8, 11) if watts < 4000 else draw.randrange(4, 7)
    return Car(watts, weekdays, usual, draw.randrange(1 << 30))
