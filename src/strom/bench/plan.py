"""What `strom bench pipeline` measures, and how much of it."""

from collections.abc import Sequence
from dataclasses import dataclass

ON_READINGS = ("all", "memory", "lake", "profile")
IN_ONE_PROCESS = ("normalise", *ON_READINGS, "latency", "growth")
PARTS = (*IN_ONE_PROCESS, "workers")


@dataclass(frozen=True)
class Plan:
    messages: int = 4_000_000
    meters: int = 10_000
    rounds: int = 2
    latency_rate: int = 450
    latency_seconds: int = 30
    growth: tuple[int, int] = (1_000, 100_000)
    parts: Sequence[str] = PARTS

    def wants(self, *parts: str) -> bool:
        """Is any of them to be measured?"""
        return not set(parts).isdisjoint(self.parts)


QUICK = Plan(messages=1_000_000, latency_seconds=20)
