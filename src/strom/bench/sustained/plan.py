"""What `strom bench sustained` runs: how long, how many meters, and the limits that a rate has to hold."""

from dataclasses import dataclass

from strom.errors import StromError

METERS_PER_RATE = 5  # each meter sends every 5 s, as adapters do
MOST_METERS = 400_000  # what the packet ids of the load's connections have room for


@dataclass(frozen=True)
class Limits:
    """What "nothing falls behind" means."""

    published: float = 0.99  # of the planned rate
    readings_p99_s: float = 1.0  # from publish to the record in `readings`
    page_s: float = 2.0
    tables_s: float = 60.0
    growth_s: float = 15.0  # of the tables' lag, from the first third of the run to the last
    waiting_s: float = 1.0  # of traffic that is published and not yet in `readings` when the load ends
    page_shown: float = 0.95  # of the readings that an open page asked for


@dataclass(frozen=True)
class Plan:
    seconds: float = 300.0  # measured, in the run that decides
    probe_seconds: float = 60.0  # measured, in each run of the search
    warm_up_s: float = 30.0  # at least; it lasts until `readings` has caught up
    first_rate: int = 1_000
    meters: int | None = None  # five for each message a second, if not given

    def meters_at(self, rate: int) -> int:
        meters = METERS_PER_RATE * rate if self.meters is None else self.meters
        if meters > MOST_METERS:
            raise StromError(
                f"{meters:,} meters are too many for this load: choose --meters up to {MOST_METERS:,}."
            )
        return meters


QUICK = Plan(seconds=60.0, probe_seconds=30.0, warm_up_s=10.0)
