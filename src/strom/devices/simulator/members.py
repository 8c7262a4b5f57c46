"""Who is in a fleet: adapters drawn from its seed, each with its meter, dialect and identity. No clock, no socket."""

from dataclasses import replace
from random import Random
from typing import NamedTuple

from strom.devices.simulator.adapters import RESTART_MS, Adapter
from strom.devices.simulator.dialects import DIALECTS, Dialect
from strom.devices.simulator.meters import Meter, premises_of, wiring_of
from strom.devices.simulator.noise import Noise
from strom.devices.simulator.premises import Kind
from strom.errors import StromError

STEP_MS, EAGER_STEP_MS = 5_000, 1_000  # how long power stays the same
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


class Wish(NamedTuple):
    """What all adapters of a fleet shall be; None leaves it to the seed, as it is among neighbours."""

    kind: Kind | None = None
    dialect: Dialect | None = None
    name: str | None = None  # of those that have one; of several adapters each gets its number behind it


ANY = Wish()


def draw_adapters(count: int, seed: int, wish: Wish) -> list[Adapter]:
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
        dialect = wish.dialect or dialects[index % len(dialects)]
        kind = _kind(dialect, wish.kind, kinds[index % len(kinds)])
        adapter = _adapter(index, dialect, kind, noise, f"{seed}-{index}", first_id)
        if wish.name is not None and dialect.named:
            name = f"{wish.name}-{index + 1}" if count > 1 else wish.name
            adapter = replace(adapter, name=name)
        adapters.append(adapter)
    return adapters


def _kind(dialect: Dialect, wished: Kind | None, drawn: Kind) -> Kind:
    if not dialect.household_only:
        return wished or drawn
    if wished not in (None, Kind.HOUSEHOLD):
        raise StromError(f"Only households speak the dialect {dialect.name}; choose another dialect or kind.")
    return Kind.HOUSEHOLD


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
