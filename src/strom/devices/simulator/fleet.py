"""Many simulated adapters from one seed, and all that they push in a stretch of time. No clock, no socket."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from strom.devices.simulator.adapters import Adapter
from strom.devices.simulator.faults import Fault, FaultKind, plan
from strom.devices.simulator.members import ANY, Wish, draw_adapters
from strom.devices.simulator.meters import Meter
from strom.errors import StromError

EAGER_PUSHES = 5  # of an eager dialect in the interval of the others
MOST_METERS = 1_000_000
_NEEDS = {
    FaultKind.RESET: "import_wh",
    FaultKind.VOLTAGE: "voltage_l1_v",
    FaultKind.PHASE_LOSS: "voltage_l2_v",
    FaultKind.JUMP: "import_wh",
    FaultKind.OVERLOAD: "import_w",
    FaultKind.LEFT_ON: "import_wh",
    FaultKind.PLANT_OFF: "export_wh",
}  # what the dialect must send to show it

_NO_PLANT = (FaultKind.OVERLOAD, FaultKind.LEFT_ON)


class Push(NamedTuple):
    """One message of one adapter."""

    adapter: Adapter
    publish_ms: int  # in simulated time
    topic: str
    payload: bytes


class Rhythm(NamedTuple):
    """An adapter pushes whenever the epoch's ms, less `phase_ms`, are a multiple of `step_ms`."""

    step_ms: int
    phase_ms: int

    def latest(self, time_ms: int) -> int:
        """When it pushed last, at this moment or before."""
        return time_ms - (time_ms - self.phase_ms) % self.step_ms


class Fleet:
    """`count` adapters, the same for the same seed; faults count from `faults_from_ms`."""

    def __init__(
        self,
        count: int,
        *,
        seed: int = 1,
        faults: Iterable[FaultKind] = (),
        faults_from_ms: int = 0,
        topic: str = "sma",
        wish: Wish = ANY,
    ) -> None:
        if not 1 <= count <= MOST_METERS:
            raise StromError(f"{count} meters cannot be simulated; choose from 1 to {MOST_METERS:,}.")
        self.seed = seed
        self.topic = topic
        self.adapters = draw_adapters(count, seed, wish)
        self._faults = plan(
            faults, [adapter.key for adapter in self.adapters], self._fits, seed, faults_from_ms
        )
        for fault in self._faults:
            self.adapters[fault.index].faults += (fault,)

    def faults(self) -> tuple[Fault, ...]:
        """Which meter has which fault from when on."""
        return self._faults

    def readings(
        self, start_ms: int, end_ms: int, interval_s: float, *, history: bool = False
    ) -> Iterator[Push]:
        """Every push from `start_ms` up to, but without, `end_ms`, in order of time.

        `history` is for a stretch that is sent later than it happened: all push at the same interval, and
        a meter that tells no time is left out, for its old counters would be taken for present ones.
        """
        interval_ms = max(1, round(interval_s * 1000))
        rota = self._rota(interval_ms, history)
        for begin in range(start_ms - start_ms % interval_ms, end_ms, interval_ms):
            for offset, adapter, topic in rota:
                time_ms = begin + offset
                if start_ms <= time_ms < end_ms:
                    payload = adapter.payload(time_ms)
                    if payload is not None:
                        yield Push(adapter, time_ms, topic, payload)

    def _rota(self, interval_ms: int, history: bool) -> list[tuple[int, Adapter, str]]:
        """Who pushes when within one interval."""
        rota = []
        for adapter in self.adapters:
            if history and not adapter.dialect.tells_time:
                continue
            step, phase = rhythm(adapter, interval_ms, history=history)
            for offset in range(phase, phase + interval_ms, step):
                rota.append((offset, adapter, adapter.topic(self.topic)))
        rota.sort(key=lambda entry: (entry[0], entry[1].meter.index))
        return rota

    def _fits(self, kind: FaultKind, index: int) -> bool:
        dialect = self.adapters[index].dialect
        needs = _NEEDS.get(kind)
        if kind is FaultKind.CLOCK:
            return dialect.tells_time
        # What feeds in shows no import; what never does has no plant to lose.
        solar = self.adapters[index].meter.premises.solar_wh > 0
        if (kind is FaultKind.PLANT_OFF and not solar) or (kind in _NO_PLANT and solar):
            return False
        # A swapped meter without a name would be another meter.
        return (needs is None or needs in dialect.fields) and (dialect.named or kind is not FaultKind.RESET)


def rhythm(adapter: Adapter, interval_ms: int, *, history: bool = False) -> Rhythm:
    """When this adapter pushes, where the others push at this interval."""
    whole = interval_ms % (EAGER_PUSHES * 1000) == 0
    pushes = EAGER_PUSHES if adapter.dialect.eager and whole and not history else 1
    return Rhythm(interval_ms // pushes, _phase(adapter.meter, interval_ms // pushes))


def _phase(meter: Meter, interval_ms: int) -> int:
    """When in its interval a meter pushes: spread evenly, and where a step of its power begins."""
    if interval_ms < meter.step_ms:
        return meter.offset_ms % interval_ms
    return meter.offset_ms + meter.step_ms * (meter.index % (interval_ms // meter.step_ms))
