"""When a meter is silent: how long it may be quiet, and after which of its messages it was so for longer.

By arrival times, never by meter time, so that history filled in is not silence. Which push interval is known depends on
the messages that came before a silence and on no later one, so that it is the same silence however they are cut into
batches.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from strom.domain.alerts import SILENT, Alert, clock_text
from strom.domain.push_interval import is_push

Arrival = tuple[int, int]  # when a message came, and the meter's time in it (epoch ms)


@dataclass(frozen=True, slots=True)
class QuietLimits:
    """`unknown_seconds`: for a meter that has not told its push interval yet, as by its first message."""

    pushes: int
    least_seconds: int
    unknown_seconds: int

    def ms(self, interval_s: int | None) -> int:
        """How long a meter may be quiet before it is silent."""
        usual = self.unknown_seconds if interval_s is None else self.pushes * interval_s
        return max(usual, self.least_seconds) * 1000


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of a meter before: the last arrival, its newest time, and how long it may be quiet after that."""

    received: int
    newest: int
    limit_ms: int
    knows_interval: bool


def silence(meter: str, last: int, limit_ms: int, returned: int | None, timezone: str) -> Alert:
    """Nothing came after `last`; silent begins when the limit was over."""
    since = clock_text(last, timezone)
    if returned is None:
        text = f"{meter} sends nothing since {since}: is the adapter plugged in and in reach of the Wi-Fi?"
    else:
        text = f"{meter} sent nothing from {since} to {clock_text(returned, timezone)}."
    quiet = None if returned is None else (returned - last) / 1000
    return Alert(meter, SILENT, "", last + limit_ms, returned, quiet, limit_ms / 1000, False, text)


def ended_silences(
    meter: str,
    heard: Heard | None,
    arrivals: Iterable[Arrival],
    limits: QuietLimits,
    interval_s: int | None,
    timezone: str,
) -> list[Alert]:
    """The silences that these arrivals ended; `interval_s` is what the meter's interval is, once it is known."""
    found: list[Alert] = []
    for received, at in sorted(arrivals):
        if heard is None:
            heard = Heard(received, at, limits.ms(None), knows_interval=False)
        if received - heard.received > heard.limit_ms:
            found.append(silence(meter, heard.received, heard.limit_ms, received, timezone))
        knows = heard.knows_interval or is_push(at - heard.newest)
        limit = limits.ms(interval_s if knows else None)
        heard = Heard(max(received, heard.received), max(at, heard.newest), limit, knows)
    return found
