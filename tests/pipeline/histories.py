"""Random histories of meters with everything that can go wrong, and the order in which they come: late, twice, mixed."""

import random
from collections.abc import Sequence
from dataclasses import replace

from strom.domain.reading import CLOCK_WRONG
from strom.settings import GroupSettings, RuleSettings, Settings
from tests.pipeline.batches import START, Sent, numbered, reading
from tests.pipeline.expected_tariffs import with_tariffs

MINUTE = 60_000
HOUR = 60 * MINUTE
LENGTHS = (1, 2, 3, 20, *[70] * 6)
# A meter that keeps its pace, one that does what it likes, and one with outages; 0 is another reading of the same time.
PACES = ((5_000, 5_000, MINUTE), (0, 5_000, MINUTE, 61_000, 5 * MINUTE), (MINUTE, HOUR, 2 * HOUR, 3 * HOUR))
GROWTH = (0, 0.7, 3.1, 20, -4, -9.9)
JUMPS = (-3000, 9000)


def grouped(settings: Settings) -> Settings:
    """All alerts are within reach of the histories, and two thirds of the meters have rules of their own."""
    rules = RuleSettings(agreed_w=4_000)
    patient = {"agreed_w": 6_000, "noise_wh": 2, "phase_loss_seconds": 90, "voltage_severe_high_v": 259.4}
    groups = {
        "patient": GroupSettings.model_validate({"meters": ["patient *", "nobody"], **patient}),
        "small": GroupSettings(meters=["small [2-9]", "small ?*"], limit_w=900, clock_seconds=1500),
    }
    return settings.model_copy(update={"rules": rules, "groups": groups})


def arrivals(seed: int, meters: int) -> list[Sent]:
    """The histories of so many meters as the raw topic holds them; a meter's is the same however many there are."""
    queues = {}
    for number in range(meters):
        meter = f"{('common', 'patient', 'small')[number % 3]} {number}"
        chance = random.Random(f"{seed} {meter}")
        readings = history(chance, meter)
        if chance.random() < 0.3:
            readings = with_tariffs(chance, readings)
        queues[meter] = disturbed(chance, readings)
    order = [meter for meter, own in queues.items() for _ in own]
    random.Random(seed).shuffle(order)
    waiting = {meter: iter(own) for meter, own in queues.items()}
    return numbered([next(waiting[meter]) for meter in order])


def history(chance: random.Random, meter: str) -> list[Sent]:
    return RandomMeter(chance, meter).readings(chance.choice(LENGTHS))


class RandomMeter:
    """Outages, jumps, swaps, bad voltage, overload, a wrong clock, counters that come late or never: each has some of it."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self.chance, self.name = chance, name
        self.at = START + chance.randrange(20 * MINUTE)
        self.pace, self.wild = chance.choice(PACES), chance.choice((0, 0.1, 0.3))
        ways = chance.choice((("import", "export"), ("import", "export"), ("import",)))
        self.counters = {f"{way}_wh": chance.uniform(0, 5000) for way in ways}
        self.watts = {f"{way}_w": 0.0 for way in ways if chance.random() < 0.8}
        self.counts_from = chance.choice((0, 0, 0, 20, 99))  # before that reading it tells power, if anything
        self.left_out = chance.choice((0, 0.1))
        self.lost, self.number = False, 1
        # From one reading to another the clock is wrong by some minutes, or tells an impossible time.
        self.off_ms = chance.choice((20 * MINUTE, 20 * MINUTE, -20 * MINUTE))
        self.off, self.impossible = (range(first := chance.randrange(60), first + 12) for _ in range(2))

    def readings(self, count: int) -> list[Sent]:
        return [self._reading(index) for index in range(count)]

    def _reading(self, index: int) -> Sent:
        border = 15 * MINUTE - self.at % (15 * MINUTE)
        step = self.chance.choice((*self.pace, *self.pace, border, self.chance.choice((HOUR, 3 * HOUR))))
        self.at += step
        self._count(swapped=step > 0 and self.chance.random() < self.wild / 10)
        shown = dict(self.counters) if index >= self.counts_from else {}
        shown = {name: value for name, value in shown.items() if self.chance.random() >= self.left_out}
        arrived = self.at + self.chance.choice((200, 200, 1500)) + (self.off_ms if index in self.off else 0)
        wrong = index in self.impossible and index not in self.off
        return replace(
            reading(self.name, self.at, **shown, **self._power(), **self._voltages()),
            received=self.at if wrong else arrived,
            flags=(CLOCK_WRONG,) if wrong else (),
            meter_number=f"{self.name}/{self.number}" if self.chance.random() < 0.8 else None,
        )

    def _count(self, *, swapped: bool) -> None:
        self.number += swapped
        for name, value in self.counters.items():
            growth = self.chance.choice(GROWTH + JUMPS * (self.chance.random() < self.wild))
            grown = self.chance.uniform(0, 9) if swapped else max(0, value + growth)
            self.counters[name] = round(grown, 3)

    def _power(self) -> dict[str, float]:
        for name, value in self.watts.items():
            self.watts[name] = self.chance.choice([value, value, round(self.chance.uniform(0, 9000), 3)])
        return self.watts

    def _voltages(self) -> dict[str, float]:
        self.lost = self.lost if self.chance.random() < 0.7 else not self.lost
        volts = self.chance.choice([230, 230, 230, 230, 259, 190]) + self.chance.random()
        phases = {"voltage_l1_v": round(volts, 1), "voltage_l2_v": 11.5 if self.lost else 231.5}
        return {phase: value for phase, value in phases.items() if self.chance.random() < 0.85}


def disturbed(chance: random.Random, readings: Sequence[Sent]) -> list[Sent]:
    """Some come late, some twice."""
    keyed = [(i + chance.choice([0] * 12 + [30, 90]), each) for i, each in enumerate(readings)]
    keyed += [(i + chance.randrange(60), each) for i, each in enumerate(readings) if chance.random() < 0.05]
    return [each for _, each in sorted(keyed, key=lambda pair: pair[0])]
