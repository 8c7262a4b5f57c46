"""Many simulated adapters from one seed, and all that they push in a stretch of time. No clock, no socket."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from strom.devices.simulator.adapters import RESTART_MS, Adapter
from strom.devices.simulator.dialects import DIALECTS, Dialect
from strom.devices.simulator.faults import Fault, FaultKind, plan
from strom.devices.simulator.meters import Meter, premises_of, wiring_of
from strom.devices.simulator.noise import Noise
from strom.devices.simulator.premises import Kind
from strom.errors import StromError

STEP_MS, EAGER_STEP_MS = 5_000, 1_000  # how long power stays the same
EAGER_PUSHES = 5  # of an eager dialect in the interval of the others
MOST_METERS = 1_000_000
KINDS = (
    *(Kind.HOUSEHOLD,) * 9,
    *(Kind.HEAT_PUMP,) * 3,
    *(Kind.SOLAR,) * 4,
    *(Kind.CAR,) * 2,
    Kind.EVERYTHING,
)
_GOLDEN = 0.6180339887498949  # its multiples spread evenly, however many there are
_NAMES = {
    Kind.HOUSEHOLD: "wohnung-{}",
    Kind.HEAT_PUMP: "haus-{:04d}",
    Kind.SOLAR: "solar-{:04d}",
    Kind.CAR: "haus-{:04d}",
    Kind.EVERYTHING: "hof-{:04d}",
}
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
    ) -> None:
        if not 1 <= count <= MOST_METERS:
            raise StromError(f"{count} meters cannot be simulated; choose from 1 to {MOST_METERS:,}.")
        self.seed = seed
        self.topic = topic
        self.adapters = _adapters(count, seed)
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
            pushes = 1 if history else _pushes(adapter.dialect, interval_ms)
            phase = _phase(adapter.meter, interval_ms // pushes)
            for turn in range(pushes):
                rota.append((phase + turn * interval_ms // pushes, adapter, adapter.topic(self.topic)))
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


def _pushes(dialect: Dialect, interval_ms: int) -> int:
    whole = interval_ms % (EAGER_PUSHES * 1000) == 0
    return EAGER_PUSHES if dialect.eager and whole else 1


def _phase(meter: Meter, interval_ms: int) -> int:
    """When in its interval a meter pushes: spread evenly, and where a step of its power begins."""
    if interval_ms < meter.step_ms:
        return meter.offset_ms % interval_ms
    return meter.offset_ms + meter.step_ms * (meter.index % (interval_ms // meter.step_ms))


def _adapters(count: int, seed: int) -> list[Adapter]:
    draw = Random(f"strom-fleet-{seed}")  # noqa: S311 - a simulation, not a secret
    noise = Noise(seed)
    # A round of all dialects, shuffled: a small fleet has every one of them too.
    dialects = [dialect for dialect in DIALECTS for _ in range(dialect.often)]
    kinds = list(KINDS)
    draw.shuffle(dialects)
    draw.shuffle(kinds)
    first_id = draw.randrange(1 << 24)
    adapters = []
    for index in range(count):
        dialect = dialects[index % len(dialects)]
        kind = Kind.HOUSEHOLD if dialect.household_only else kinds[index % len(kinds)]
        adapters.append(_adapter(index, dialect, kind, noise, f"{seed}-{index}", first_id))
    return adapters


def _adapter(index: int, dialect: Dialect, kind: Kind, noise: Noise, seed: str, first_id: int) -> Adapter:
    draw = Random(f"strom-meter-{seed}")  # noqa: S311 - a simulation, not a secret
    step_ms = EAGER_STEP_MS if dialect.eager else STEP_MS
    meter = Meter(
        index=index,
        premises=premises_of(draw, kind, tariffs="import_t1_wh" in dialect.fields),
        wiring=wiring_of(draw, kind),
        noise=noise,
        step_ms=step_ms,
        offset_ms=int(index * _GOLDEN % 1 * step_ms),
        import_start_wh=float(draw.randrange(100_000, 9_000_000)),
        export_start_wh=float(draw.randrange(100_000, 900_000))
        if kind in (Kind.SOLAR, Kind.EVERYTHING)
        else 0.0,
    )
    return Adapter(
        meter=meter,
        dialect=dialect,
        name=_NAMES[kind].format(index + 1) if dialect.named else "",
        client_id=f"sma_{(first_id + index * 7919) % (1 << 24):06X}",
        number=f"1KFM02{draw.randrange(10**8):08d}",
        boot_phase_ms=draw.randrange(RESTART_MS),
    )
