"""What the box knows: the last push of its meter, for a minute, and how many there were. No socket.

REST and Modbus both show the push that MQTT has sent, because all three take it from the same moment of the simulator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from strom.devices.simulator import Adapter
from strom.devices.simulator.fleet import rhythm
from strom.devices.simulator.timeline import Clock

KEPT_SECONDS = 60  # the box stores nothing for longer


@dataclass(frozen=True)
class LastPush:
    at_ms: int
    payload: bytes  # the bytes that MQTT sends
    values: Mapping[str, Decimal]  # its registers, by field of a reading
    meter_number: str | None


@dataclass
class Packages:
    """What came from the meter since the box was switched on."""

    valid: int = 0
    invalid: int = 0


class Pushes:
    """Follows one adapter by the clock, from `since_ms` on, when the box was switched on."""

    def __init__(self, adapter: Adapter, interval_s: float, clock: Clock, since_ms: int) -> None:
        self.adapter = adapter
        self.rhythm = rhythm(adapter, round(interval_s * 1000))
        self._clock = clock
        self._since_ms = since_ms
        self._packages = Packages()
        self._counted_ms = self.rhythm.latest(since_ms - 1)
        self._last: LastPush | None = None

    def last(self) -> LastPush | None:
        """The newest push; None where there was none in the last minute."""
        now_ms = self._clock()
        oldest_ms = max(self._since_ms, now_ms - KEPT_SECONDS * 1000)
        for at_ms in range(self.rhythm.latest(now_ms), oldest_ms - 1, -self.rhythm.step_ms):
            if not self.adapter.silent(at_ms):
                return self._push(at_ms)
        return None

    def packages(self) -> Packages:
        newest_ms = self.rhythm.latest(self._clock())
        step_ms = self.rhythm.step_ms
        for at_ms in range(self._counted_ms + step_ms, newest_ms + 1, step_ms):
            if not self.adapter.silent(at_ms):
                spoilt = self.adapter.spoils(at_ms)
                self._packages.invalid += spoilt
                self._packages.valid += not spoilt
        self._counted_ms = max(self._counted_ms, newest_ms)
        return self._packages

    @property
    def meter_number(self) -> str | None:
        return self.adapter.number_at(self._clock())

    @property
    def uptime_s(self) -> float:
        return self.adapter.uptime_s(self._clock())

    def _push(self, at_ms: int) -> LastPush:
        found = self._last
        if found is None or found.at_ms != at_ms:
            adapter = self.adapter
            payload = adapter.payload(at_ms) or b""
            values = with_totals(adapter.shown(at_ms))
            found = self._last = LastPush(at_ms, payload, values, adapter.number_at(at_ms))
        return found


def with_totals(values: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """A meter may count by tariff only; the box adds them up where an interface has the total alone."""
    totals = dict(values)
    for direction in ("import", "export"):
        tariffs = [
            values[field] for tariff in range(1, 5) if (field := f"{direction}_t{tariff}_wh") in values
        ]
        if tariffs:
            totals.setdefault(f"{direction}_wh", sum(tariffs, Decimal(0)))
    return totals
