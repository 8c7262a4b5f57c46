"""What a shard has to see of a meter beside what was folded for all: it waits in the tables until the lake was asked."""

from dataclasses import asdict, dataclass, field
from typing import Self

import orjson


@dataclass(frozen=True, slots=True)
class _Need:
    @classmethod
    def parsed(cls, text: str) -> Self:
        return cls(**orjson.loads(text))

    def text(self) -> str:
        return orjson.dumps(asdict(self)).decode()


@dataclass(frozen=True, slots=True)
class WindowNeed:
    """Readings from `begin` up to `end`, among them the late ones from `first` to `last`; of each series those behind `series`."""

    first: int
    last: int
    begin: int
    end: int
    series: dict[str, int]


@dataclass(frozen=True, slots=True)
class SettlementNeed(_Need):
    """Times in epoch ms. Where readings are `late`, what is stored behind them is made anew from the lake.

    `windows`: late readings around which only that is made anew; `behind`: the rest is what lies behind that time.

    `each`: single readings, not only cells. `since`: statistics and windows of voltage from the moment after it on;
    `series`: the same of each series, by its name in the tables, `otherwise` of one that is not stored.
    """

    first: int
    late: bool = False
    each: bool = False
    since: int = -1
    series: dict[str, int] = field(default_factory=dict)
    otherwise: int = -1
    runs: int | None = None
    windows: list[WindowNeed] = field(default_factory=list)
    behind: int = -1
    tariffs: bool = True

    @classmethod
    def parsed(cls, text: str) -> Self:
        found = orjson.loads(text)
        windows = found.get("windows", ())  # those of an older Strom have none
        found["windows"] = [WindowNeed(**window) for window in windows]
        return cls(**found)

    def after(self, series: str) -> int:
        return self.series.get(series, self.otherwise)

    @property
    def read_from(self) -> int:
        """No reading at this time or before it is wanted."""
        times = [self.since, self.otherwise, *self.series.values()]
        return min(times if self.runs is None else [*times, self.runs - 1])


@dataclass(frozen=True, slots=True)
class ArrivalsNeed(_Need):
    """`clocks`: its windows of arrivals; `looked_up`: the windows that began before, of readings behind `behind` (None: of all)."""

    arrivals: bool = False
    clocks: bool = False
    looked_up: list[int] = field(default_factory=list)
    behind: int | None = None
