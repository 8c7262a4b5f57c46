"""How adapters write what a meter measures: one row of DIALECTS for each shape seen in the field.

An encoder is compiled once for a meter into a format string and positions; it knows neither time nor faults.
"""

from dataclasses import dataclass
from decimal import Decimal
from json import dumps
from operator import itemgetter
from typing import Literal

from strom.devices.simulator.meters import Measurement
from strom.domain.obis import MEASURED
from strom.errors import StromError

CODES = {register.field: register.code for register in MEASURED}
_FIELDS = Measurement._fields
# What an encoder gets beside the measurement, in this order after its fields.
TIME, UPTIME, CLOCK = (len(_FIELDS) + extra for extra in range(3))

TOTALS = ("import_wh", "export_wh")
REACTIVE = ("reactive_import_varh", "reactive_export_varh")
POWERS = ("import_w", "export_w")
REACTIVE_POWERS = ("reactive_import_var", "reactive_export_var")
VOLTAGES = ("voltage_l1_v", "voltage_l2_v", "voltage_l3_v")
CURRENTS = ("current_l1_a", "current_l2_a", "current_l3_a")
FULL = (*TOTALS, *REACTIVE, *POWERS, *REACTIVE_POWERS, *VOLTAGES, *CURRENTS, "power_factor")

Times = Literal["all", "none", "counters", "zero"]


@dataclass(frozen=True)
class Dialect:
    """One shape of the adapter's JSON."""

    name: str
    fields: tuple[str, ...] = FULL
    spelling: str = "1-0:{}"
    version: str = "v1"
    times: Times = "all"  # zero: the powers say `time: 0` beside valid counters
    style: Literal["whole", "decimal", "text"] = "whole"
    number_code: str | None = "0-0:96.1.0"
    number_time: bool = False
    extras: tuple[
        str, ...
    ] = ()  # further members, as format strings that take CLOCK or the time only by name
    named: bool = True
    eager: bool = False  # pushes five times as often as the others
    household_only: bool = False
    often: int = 1  # how often it stands in the round of dialects

    @property
    def tells_time(self) -> bool:
        return self.times != "none"


DIALECTS: tuple[Dialect, ...] = (
    Dialect("standard", often=5, extras=('"0-0:42.0.0":{"value":"KFM1200200123456"}',)),
    Dialect(
        "netz-ooe",
        fields=(*TOTALS, *REACTIVE, *POWERS, *REACTIVE_POWERS),
        spelling="1-1:{}",
        number_code=None,
        extras=('"0-0:1.0.0":{"value":"%(clock)s","time":%(time)d}',),
        eager=True,
        often=2,
    ),
    Dialect("long-dot", spelling="1-0:{}.255", style="decimal", number_code="0-0:96.1.1", number_time=True),
    Dialect("long-star", spelling="1-0:{}*255", fields=(*FULL, "frequency_hz"), version="v2"),
    Dialect("short", spelling="{}", number_code="0.0.1", fields=(*TOTALS, *POWERS, *VOLTAGES, *CURRENTS)),
    Dialect("dotted", spelling="1.0:{}", number_code=None, fields=(*TOTALS, *POWERS, *VOLTAGES)),
    Dialect("no-voltages", fields=(*TOTALS, *POWERS), often=2),
    Dialect(
        "tariffs",
        fields=("import_t1_wh", "import_t2_wh", *POWERS, *VOLTAGES),
        extras=('"1-0:2.8.1":{"value":0,"time":%(time)d}', '"1-0:2.8.2":{"value":0,"time":%(time)d}'),
        household_only=True,
    ),
    Dialect("strings", style="text", number_code="0-0:C.1.0"),
    Dialect("no-time", times="none", fields=(*TOTALS, *POWERS, *VOLTAGES, *CURRENTS)),
    Dialect("some-times", times="counters", fields=(*TOTALS, *POWERS, *REACTIVE_POWERS), number_code=None),
    Dialect("time-zero", times="zero", extras=('"0-0:2.0.0":{"value":"F","time":0}',)),
    Dialect(
        "unknown-codes",
        version="v2",
        extras=(
            '"1-0:99.99.9":{"value":7,"time":%(time)d}',
            '"9-9:1.2.3":{"value":"x"}',
            '"0-0:96.1.1":{"value":"%(clock)s","time":%(time)d}',
            '"firmware":"3.1"',
        ),
    ),
    Dialect(
        "error-values",
        fields=(*TOTALS, *POWERS, *VOLTAGES),
        extras=(
            '"1-0:13.7.0":{"value":4294967.295,"time":%(time)d}',
            '"1-0:14.7.0":{"value":null,"time":%(time)d}',
        ),
    ),
    Dialect("unnamed", named=False, number_code="0-0:C.1.0", fields=(*TOTALS, *POWERS, *VOLTAGES)),
    Dialect("nameless", named=False, number_code=None, fields=(*TOTALS, *POWERS)),
    Dialect("single", fields=("import_w",), number_code=None, household_only=True),
)

# Spoken only on request: who draws a fleet from a seed gets the same one as before.
ON_REQUEST: tuple[Dialect, ...] = (
    # Tells nothing of the other direction; by Modbus there is no way not to.
    Dialect("import-only", fields=("import_wh", "import_w"), household_only=True),
)


def dialect_named(name: str) -> Dialect:
    for dialect in (*DIALECTS, *ON_REQUEST):
        if dialect.name == name:
            return dialect
    known = ", ".join(dialect.name for dialect in (*DIALECTS, *ON_REQUEST))
    raise StromError(f"{name!r} is no dialect that adapters speak; choose from {known}.")


_WHOLE = {
    "Wh": "%d",
    "varh": "%d",
    "W": "%.0f",
    "var": "%.0f",
    "V": "%.1f",
    "A": "%.2f",
    "1": "%.3f",
    "Hz": "%.2f",
}
_DECIMAL = _WHOLE | {"Wh": "%.3f", "varh": "%.3f", "W": "%.1f", "var": "%.1f"}
_TEXT = {unit: f'"{form}"' for unit, form in (_DECIMAL | {"Wh": "%09d", "varh": "%09d"}).items()}
_STYLES = {"whole": _WHOLE, "decimal": _DECIMAL, "text": _TEXT}
_UNITS = {register.field: register.unit for register in MEASURED}


class Encoder:
    """Turns a measurement into the bytes that one adapter sends."""

    def __init__(self, dialect: Dialect, name: str, number: str) -> None:
        self.shows_clock = any("%(clock)s" in extra for extra in dialect.extras)
        self.number = None if dialect.number_code is None else number
        self._forms = {field: _STYLES[dialect.style][_UNITS[field]] for field in dialect.fields}
        self._positions: list[int] = []
        members = [f'"api_version":"{dialect.version}"', f'"name":{_quoted(name)}', '"sma_time":%.2f']
        self._positions.append(UPTIME)
        members += [self._register(dialect, field) for field in dialect.fields]
        members += [self._extra(extra) for extra in dialect.extras]
        members += self._number(dialect, number)
        self._template = "{" + ",".join(members) + "}"
        self._pick = itemgetter(*self._positions)

    def encode(self, measurement: Measurement, time_s: int, uptime_s: float, clock: str) -> bytes:
        """`clock` is shown by some dialects only; `shows_clock` tells."""
        text: str = self._template % self._pick((*measurement, time_s, uptime_s, clock))
        return text.encode()

    def numbers(self, measurement: Measurement) -> dict[str, Decimal]:
        """What the payload's registers say, by field."""
        return {
            field: Decimal((form % getattr(measurement, field)).strip('"'))
            for field, form in self._forms.items()
        }

    def _register(self, dialect: Dialect, field: str) -> str:
        key = dialect.spelling.format(CODES[field])
        self._positions.append(_FIELDS.index(field))
        return f'"{key}":{{"value":{self._forms[field]}{self._time(dialect, field)}}}'

    def _time(self, dialect: Dialect, field: str) -> str:
        counter = _UNITS[field] in ("Wh", "varh")
        if dialect.times == "none" or (dialect.times == "counters" and not counter):
            return ""
        if dialect.times == "zero" and not counter:
            return ',"time":0'
        self._positions.append(TIME)
        return ',"time":%d'

    def _extra(self, extra: str) -> str:
        places = sorted(
            (extra.find(mark), where) for mark, where in (("%(clock)s", CLOCK), ("%(time)d", TIME))
        )
        self._positions += [where for found, where in places if found >= 0]
        return extra.replace("%(clock)s", "%s").replace("%(time)d", "%d")

    def _number(self, dialect: Dialect, number: str) -> list[str]:
        if dialect.number_code is None:
            return []
        time = ',"time":%d' if dialect.number_time else ""
        if time:
            self._positions.append(TIME)
        return [f'"{dialect.number_code}":{{"value":{_quoted(number)}{time}}}']


def _quoted(text: str) -> str:
    return dumps(text, ensure_ascii=False).replace("%", "%%")
