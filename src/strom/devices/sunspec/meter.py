"""What a meter measures: which point of SunSpec's model 203 is which field of a reading.

| field of a reading | point of model 203 |
|---|---|
| `import_wh`, `export_wh` | `TotWhImp`, `TotWhExp`, whole Wh |
| `reactive_import_varh` | `TotVArhImpQ1` + `TotVArhImpQ2`; the adapter knows the sum only and writes it into Q1 |
| `reactive_export_varh` | `TotVArhExpQ4` + `TotVArhExpQ3`; written into Q4 |
| `import_w`, `export_w` | `W`, positive while the house takes, negative while it feeds in |
| `reactive_import_var`, `reactive_export_var` | `VAR`, with the same sign |
| voltages, currents | `PhVphA` … `PhVphC`, `AphA` … `AphC`; `PhV` and `A` are their mean and sum |
| `power_factor` | `PF`, in percent |
| `frequency_hz` | `Hz` |

SunSpec has one value for an accumulator that is not there and for one at its beginning: 0. Accumulators that share a
scale factor are therefore taken as absent while all of them are 0; beside one that counts, 0 is the number 0. Why, and
which meter that wrongs, is told in docs/decisions/a-counter-of-0-by-modbus.md.
"""

from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from strom.devices.sunspec.points import ACCUMULATOR, Point, load_model

METER = load_model(203)

Values = Mapping[str, Decimal]  # by field of a reading

ZERO = Decimal(0)


class Moment(NamedTuple):
    field: str
    point: str
    shift: int = 0  # powers of ten from the field's unit to the point's


class Net(NamedTuple):
    taken: str
    fed_in: str
    point: str


class Counter(NamedTuple):
    field: str
    points: tuple[str, ...]  # their sum; the adapter writes the first


MOMENTS = (
    *(Moment(f"voltage_l{line}_v", f"PhVph{phase}") for line, phase in enumerate("ABC", 1)),
    *(Moment(f"current_l{line}_a", f"Aph{phase}") for line, phase in enumerate("ABC", 1)),
    Moment("power_factor", "PF", shift=2),
    Moment("frequency_hz", "Hz"),
)
NETS = (Net("import_w", "export_w", "W"), Net("reactive_import_var", "reactive_export_var", "VAR"))
COUNTERS = (
    Counter("import_wh", ("TotWhImp",)),
    Counter("export_wh", ("TotWhExp",)),
    Counter("reactive_import_varh", ("TotVArhImpQ1", "TotVArhImpQ2")),
    Counter("reactive_export_varh", ("TotVArhExpQ4", "TotVArhExpQ3")),
)
# The finest power of ten in which the adapter writes what shares a scale factor; large values take a coarser one.
FINEST = {
    "A_SF": -2,
    "V_SF": -1,
    "Hz_SF": -2,
    "W_SF": -1,
    "VAR_SF": -1,
    "PF_SF": -1,
    "TotWh_SF": 0,
    "TotVArh_SF": 0,
}
_LARGEST = 0x7FFF
_POWERS = range(-10, 11)  # that SunSpec allows in a scale factor


def encode_meter(values: Values) -> list[int]:
    """Model 203 with these values; what is not among them is 'not implemented'."""
    block = METER.blank()
    METER["Evt"].put(block, 0)
    points = _points(values)
    for scale in METER.scales:
        group = {point: points[point.name] for point in METER.scaled_by(scale.name) if point.name in points}
        power = _power(scale.name, group.values())
        if not group and not scale.mandatory:
            continue
        scale.put(block, power)
        for point, value in group.items():
            point.put(block, None if power is None else _unscaled(point, value, power))
    return block


def decode_meter(block: Sequence[int]) -> dict[str, Decimal]:
    """What model 203 holds, by field of a reading, absent is absent; SunSpecError if it is no model 203."""
    METER.expect(block, METER.size)
    found: dict[str, Decimal] = {}
    for counter in COUNTERS:
        parts = [_scaled(block, METER[name]) for name in counter.points]
        if None not in parts and _counts(block, METER[counter.points[0]].scale):
            found[counter.field] = _sum(parts)
    for net in NETS:
        value = _scaled(block, METER[net.point])
        if value is not None:
            found[net.taken], found[net.fed_in] = max(value, ZERO), max(-value, ZERO)
    for moment in MOMENTS:
        value = _scaled(block, METER[moment.point])
        if value is not None:
            found[moment.field] = value.scaleb(-moment.shift)
    return found


def _points(values: Values) -> dict[str, Decimal]:
    """What the points shall say, in their own units."""
    points = {
        moment.point: values[moment.field].scaleb(moment.shift)
        for moment in MOMENTS
        if moment.field in values
    }
    for net in NETS:
        if net.taken in values or net.fed_in in values:
            points[net.point] = values.get(net.taken, ZERO) - values.get(net.fed_in, ZERO)
    points |= {counter.points[0]: values[counter.field] for counter in COUNTERS if counter.field in values}
    volts, amperes = ([points.get(f"{kind}ph{phase}") for phase in "ABC"] for kind in ("PhV", "A"))
    if None not in volts:
        points["PhV"] = _sum(volts) / 3
    if None not in amperes:
        points["A"] = _sum(amperes)
    return points


def _sum(values: Collection[Decimal | None]) -> Decimal:
    return sum((value for value in values if value is not None), ZERO)


def _power(scale: str, values: Collection[Decimal]) -> int | None:
    """The finest power of ten in which all of these fit their registers; None if they fit in none."""
    points = METER.scaled_by(scale)
    if points[0].type == ACCUMULATOR:
        return FINEST.get(scale, 0)  # a counter keeps its unit and rolls over
    for power in range(FINEST.get(scale, 0), _POWERS.stop):
        if all(abs(_unscaled(points[0], value, power)) <= _LARGEST for value in values):
            return power
    return None


def _unscaled(point: Point, value: Decimal, power: int) -> int:
    """The number for the register: a counter shows what it has completed, all else the nearest."""
    number = value.scaleb(-power)
    return int(number if point.type == ACCUMULATOR else number.to_integral_value(ROUND_HALF_UP))


def _scaled(block: Sequence[int], point: Point) -> Decimal | None:
    raw, power = point.raw(block), METER[point.scale].raw(block) if point.scale else 0
    return None if raw is None or power is None or power not in _POWERS else Decimal(raw).scaleb(power)


def _counts(block: Sequence[int], scale: str | None) -> bool:
    """Whether anything that shares this scale factor has counted yet."""
    return scale is not None and any(point.raw(block) for point in METER.scaled_by(scale))
