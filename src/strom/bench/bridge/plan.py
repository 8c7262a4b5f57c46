"""What `strom bench bridge` measures, and how much of it."""

from collections.abc import Sequence
from dataclasses import dataclass

SPEED, MEMORY, ADAPTERS = "speed", "memory", "adapters"
PARTS = (SPEED, MEMORY, ADAPTERS)


@dataclass(frozen=True)
class Plan:
    messages: int = 400_000  # in each run
    rounds: int = 3
    meters: int = 500
    under_way: int = (
        20_000  # between publisher and Kafka at most: what is measured is a steady flow, not a queue
    )
    adapters: int = 10_000
    interval_s: float = 5.0
    seconds: float = 300.0  # for which the adapters are held
    parts: Sequence[str] = PARTS

    def wants(self, *parts: str) -> bool:
        """Is any of them to be measured?"""
        return not set(parts).isdisjoint(self.parts)


QUICK = Plan(messages=100_000, rounds=2, adapters=1_000, seconds=30.0)
