"""What stands behind a meter (household, heat pump, solar plant, car) and the power it takes or gives.

Every counter has a closed form at midnight and a day is scaled to the difference of two midnights. So
the state at any moment is found at once, and a later run continues the counters of an earlier one.
"""

from __future__ import annotations  # arrays take no type argument at run time

from array import array
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import accumulate

from strom.devices.simulator.days import Day, day_at, number_of
from strom.devices.simulator.noise import Noise
from strom.devices.simulator.profiles import FIRST_YEAR, Year, heating_year, household_year, solar_year

WEEK = (-0.02, -0.02, -0.03, -0.03, -0.02, 0.06, 0.06)  # people are at home on Saturday and Sunday; sums to 0
DAY_TARIFF = range(24, 88)  # quarter-hours of the local day in tariff 1: 06:00 to 22:00
EXPORT_FROM = 0.3  # of the day's highest sun: above it a solar plant covers the house and the rest flows out
WEATHER = 77  # where all premises look up the same sky
_FIRST_DAY = number_of(date(FIRST_YEAR, 1, 1))


class Kind(StrEnum):
    HOUSEHOLD = "household"
    HEAT_PUMP = "heat-pump"
    SOLAR = "solar"
    CAR = "car"
    EVERYTHING = "everything"


@dataclass(frozen=True)
class Car:
    """Charges on the same days of each week, in whole quarter-hours, always in the evening."""

    watts: int
    weekdays: tuple[int, ...]
    quarters: int  # a usual session
    salt: int

    def quarters_before(self, number: int, noise: Noise) -> int:
        weeks, rest = divmod(number - _FIRST_DAY, 7)
        first = date(FIRST_YEAR, 1, 1).weekday()
        sessions = weeks * len(self.weekdays) + sum((first + day) % 7 in self.weekdays for day in range(rest))
        return sessions * self.quarters + int(noise.at(self.salt, sessions) * 3)

    def starts_at(self, number: int, noise: Noise) -> int:
        """The quarter-hour of the local day: between 17:30 and 20:00."""
        return 70 + int(noise.at(self.salt + 1, number) * 11)


@dataclass(frozen=True)
class Premises:
    kind: Kind
    salt: int
    household_wh: float  # a mean day's
    heating_wh: float = 0.0
    solar_wh: float = 0.0
    car: Car | None = None
    habit: int = 0  # quarter-hours by which these people are later than the profile
    day_share: float | None = None  # of the energy in tariff 1, where the meter counts tariffs


@dataclass(frozen=True, slots=True)
class Curve:
    """One UTC day of one meter: watts of each part and both counters, by quarter-hour."""

    household: array[float]
    heating: array[float]
    car: array[float]
    solar: array[float]
    import_before: array[float]
    export_before: array[float]
    day_before: array[float] | None  # the counter of tariff 1


def curve(premises: Premises, noise: Noise, number: int) -> Curve:
    """The day `number` (since 1970) of these premises."""
    day = day_at(number)
    car = _car(premises, noise, day, number)
    sunlight = _sunlight(premises, noise, day, car)
    household = _household(premises, noise, day, number, sunlight)
    heating = _heating(premises, noise, day, number, sunlight)
    solar = _spread(_energy(premises, noise, number, solar_year(), premises.solar_wh), sunlight)
    taken = [a + b + c for a, b, c in zip(household, heating, car, strict=True)]
    start_import, start_export = counters_before(premises, noise, number)
    in_day_tariff = [
        watts if quarter in DAY_TARIFF else 0.0 for watts, quarter in zip(taken, day.quarters, strict=True)
    ]
    share = premises.day_share
    return Curve(
        household=household,
        heating=heating,
        car=car,
        solar=solar,
        import_before=_running(start_import, taken),
        export_before=_running(start_export, solar),
        day_before=None if share is None else _running(start_import * share, in_day_tariff),
    )


def counters_before(premises: Premises, noise: Noise, number: int) -> tuple[float, float]:
    """Import and export since FIRST_YEAR at the start of the day, in Wh."""
    day = date(1970, 1, 1) + timedelta(days=number)
    taken = _before(premises, noise, day, household_year(), premises.household_wh, weekly=True)
    taken += _before(premises, noise, day, heating_year(), premises.heating_wh)
    if premises.car is not None:
        taken += premises.car.quarters_before(number, noise) * premises.car.watts / 4
    return taken, _before(premises, noise, day, solar_year(), premises.solar_wh)


def _before(
    premises: Premises, noise: Noise, day: date, year: Year, daily_wh: float, *, weekly: bool = False
) -> float:
    # The noise is added to the sum, not to the days: it stays bounded, and the days differ by its steps.
    if daily_wh == 0:
        return 0.0
    number = number_of(day)
    luck = noise.at(premises.salt, number) if weekly else noise.at(WEATHER, number)
    spread = 0.12 if weekly else 0.42
    days = year.before(day) + spread * year.value(day) * luck
    if weekly:
        days += sum(WEEK[: day.weekday()])
    return daily_wh * days


def _energy(
    premises: Premises, noise: Noise, number: int, year: Year, daily_wh: float, *, weekly: bool = False
) -> float:
    today, tomorrow = date(1970, 1, 1) + timedelta(days=number), date(1970, 1, 1) + timedelta(days=number + 1)
    after = _before(premises, noise, tomorrow, year, daily_wh, weekly=weekly)
    return after - _before(premises, noise, today, year, daily_wh, weekly=weekly)


def _household(
    premises: Premises, noise: Noise, day: Day, number: int, sunlight: list[float]
) -> array[float]:
    salt, shape = premises.salt, day.household
    weights = [
        shape[(slot - premises.habit) % 96] * (0.7 + 0.6 * noise.at(salt, number * 96 + slot))
        for slot in range(96)
    ]
    energy = _energy(premises, noise, number, household_year(), premises.household_wh, weekly=True)
    weights = _shaded(weights, sunlight)
    if premises.day_share is None:
        return _spread(energy, weights)
    by_day = [
        weight if quarter in DAY_TARIFF else 0.0
        for weight, quarter in zip(weights, day.quarters, strict=True)
    ]
    by_night = [weight - daily for weight, daily in zip(weights, by_day, strict=True)]
    bright = _spread(energy * premises.day_share, by_day)
    dark = _spread(energy * (1 - premises.day_share), by_night)
    return array("d", (a + b for a, b in zip(bright, dark, strict=True)))


def _heating(premises: Premises, noise: Noise, day: Day, number: int, sunlight: list[float]) -> array[float]:
    if premises.heating_wh == 0:
        return array("d", bytes(96 * 8))
    # Nights are colder and the sun warms the house.
    weights = [
        (1.25 - 0.5 * sun) * (0.6 + 0.8 * noise.at(premises.salt + 3, number * 96 + slot))
        for slot, sun in enumerate(day.sun)
    ]
    energy = _energy(premises, noise, number, heating_year(), premises.heating_wh)
    return _spread(energy, _shaded(weights, sunlight))


def _car(premises: Premises, noise: Noise, day: Day, number: int) -> array[float]:
    watts = array("d", bytes(96 * 8))
    car = premises.car
    if car is None or day.weekday not in car.weekdays:
        return watts
    length = car.quarters_before(number + 1, noise) - car.quarters_before(number, noise)
    start = car.starts_at(number, noise)
    for slot, quarter in enumerate(day.quarters):
        if start <= quarter < start + length:
            watts[slot] = car.watts
    return watts


def _sunlight(premises: Premises, noise: Noise, day: Day, car: array[float]) -> list[float]:
    """How strongly the plant feeds out; 0 where it does not cover the house or a car charges."""
    if premises.solar_wh == 0:
        return []
    number, highest = number_of(day.date), max(day.sun)
    return [
        sun * (0.55 + 0.45 * noise.at(WEATHER + 1, number * 96 + slot))
        if sun > EXPORT_FROM * highest and not car[slot]
        else 0.0
        for slot, sun in enumerate(day.sun)
    ]


def _shaded(weights: list[float], sunlight: list[float]) -> list[float]:
    """Nothing is taken from the grid while the plant feeds into it: a meter shows one direction at a time."""
    if not sunlight:
        return weights
    return [0.0 if light else weight for weight, light in zip(weights, sunlight, strict=True)]


def _spread(energy_wh: float, weights: list[float]) -> array[float]:
    """The energy of a day as watts by quarter-hour, in proportion to the weights."""
    total = sum(weights)
    scale = energy_wh * 4 / total if total else 0.0
    return array("d", (weight * scale for weight in weights)) if weights else array("d", bytes(96 * 8))


def _running(start: float, watts: list[float] | array[float]) -> array[float]:
    return array("d", accumulate((value / 4 for value in watts), initial=start))
