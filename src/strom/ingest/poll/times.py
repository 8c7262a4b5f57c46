"""When an adapter is asked: the times of its interval, and how long it is let alone after a failure. Pure functions."""

import math
from typing import NamedTuple

from strom.backoff import LONGEST_SECONDS
from strom.ingest.poll.trouble import Kind

REFUSALS = (
    Kind.TOKEN,
    Kind.CERTIFICATE,
)  # it is there and says no, or is another one: somebody must come and mend it
AWAY_INTERVALS = 2  # at least one push: an interval is at most half of one
AWAY_SECONDS = 1.0  # no meter pushes more often

_SLACK = 1e-6  # of an interval


class Times(NamedTuple):
    """In seconds."""

    interval: float
    status_seconds: float  # 0 is never


def next_time(anchor: float, interval: float, after: float) -> float:
    """The next of its times; those that passed while an answer took long are left out.

    Timers may ring a moment early, and a quotient may fall short by as little: neither makes the same time come twice.
    """
    return anchor + (math.floor((after - anchor) / interval + _SLACK) + 1) * interval


def left_out(interval: float, due: float, now: float) -> int:
    """How many of its times have passed while it was asked."""
    return max(0, math.floor((now - due) / interval + _SLACK))


def longest_pause(kind: Kind, interval: float) -> float:
    """How far pauses may grow, in seconds.

    A box has only its last push to give: whatever it got while nobody asked is lost. One that is away for a while is
    therefore asked again within about one push of its meter. One that refuses has none for us, and is let alone.
    """
    if kind in REFUSALS:
        return LONGEST_SECONDS
    return min(LONGEST_SECONDS, max(AWAY_SECONDS, AWAY_INTERVALS * interval))
