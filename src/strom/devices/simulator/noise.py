"""Chance that can be looked up: seeded numbers by place, and patterns that keep a quarter-hour's energy.

It knows neither meters nor the calendar.
"""

from __future__ import annotations  # arrays take no type argument at run time

from array import array
from functools import lru_cache
from random import Random
from typing import NamedTuple

SLOT_MS = 900_000
SIZE = 4096  # numbers kept; a power of two, so that a mask finds one
PATTERNS = 32  # ways to fill a quarter-hour, per kind; a power of two too


class Noise:
    """Seeded numbers from 0 to 1: the same place always gives the same number, in any order of asking."""

    def __init__(self, seed: int) -> None:
        draw = Random(f"strom-noise-{seed}")  # noqa: S311 - a simulation, not a secret
        self.values = tuple(draw.random() for _ in range(SIZE))

    def at(self, place: int, index: int) -> float:
        mixed = ((place ^ (index * 0x9E3779B1)) * 0x85EBCA6B) & 0xFFFFFFFF
        return self.values[(mixed ^ (mixed >> 15)) & (SIZE - 1)]


class Pattern(NamedTuple):
    """Factors around 1 for the steps of a quarter-hour, and their running sum in hours up to each step."""

    factor: array[float]
    before: array[float]


class Patterns(NamedTuple):
    household: tuple[Pattern, ...]
    heating: tuple[Pattern, ...]
    sunshine: tuple[Pattern, ...]


@lru_cache(maxsize=4)
def patterns(step_ms: int) -> Patterns:
    """The patterns for meters whose power changes every `step_ms`."""
    steps = SLOT_MS // step_ms
    draw = Random(f"strom-patterns-{step_ms}")  # noqa: S311 - a simulation, not a secret
    return Patterns(
        household=tuple(_pattern(_household(draw, steps), step_ms) for _ in range(PATTERNS)),
        heating=tuple(_pattern(_heating(draw, steps), step_ms) for _ in range(PATTERNS)),
        sunshine=tuple(_pattern(_sunshine(draw, steps), step_ms) for _ in range(PATTERNS)),
    )


def _pattern(raw: list[float], step_ms: int) -> Pattern:
    # The mean is exactly 1, so a pattern moves power about inside a quarter-hour and leaves its energy alone.
    mean = sum(raw) / len(raw)
    factor = array("d", (value / mean for value in raw))
    hours = step_ms / 3_600_000
    before = array("d", [0.0])
    for value in factor:
        before.append(before[-1] + value * hours)
    return Pattern(factor, before)


def _household(draw: Random, steps: int) -> list[float]:
    """A restless base with a kettle or an oven now and then."""
    level = [0.8 + 0.05 * draw.random() for _ in range(steps)]
    for _ in range(draw.randrange(3)):
        start, length = draw.randrange(steps), max(1, steps * draw.randrange(4, 25) // 100)
        height = draw.uniform(0.4, 3.0)
        for step in range(start, min(steps, start + length)):
            level[step] += height
    return level


def _heating(draw: Random, steps: int) -> list[float]:
    """A compressor that runs for some minutes and rests for some."""
    cycle = steps * draw.randrange(40, 80) // 100
    run, phase = cycle * draw.randrange(55, 85) // 100, draw.randrange(cycle)
    return [(1.0 if (step + phase) % cycle < run else 0.05) + 0.03 * draw.random() for step in range(steps)]


def _sunshine(draw: Random, steps: int) -> list[float]:
    """A drifting brightness with a few passing clouds."""
    level = [1.0 + 0.02 * draw.random() for _ in range(steps)]
    for _ in range(draw.randrange(4)):
        start, length = draw.randrange(steps), max(1, steps * draw.randrange(5, 20) // 100)
        shade = draw.uniform(0.35, 0.85)
        for step in range(start, min(steps, start + length)):
            level[step] *= shade
    return level
