"""The OBIS registers that Strom knows, as one table, and the spellings under which adapters send them.

A code reads A-B:C.D.E*F. C is the quantity (1 import, 2 export, 32 voltage L1 …), D how it was measured (7 is the
momentary value, 8 the counter), E the tariff (0 is the total). Adapters differ only in how they write A, B and F.
"""

import re
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    COUNTER = "counter"  # energy that only grows
    MOMENT = "moment"  # a value of this moment
    METER_NUMBER = "meter_number"
    OTHER = "other"  # known, but kept under `other`


@dataclass(frozen=True)
class Register:
    code: str  # C.D.E
    field: str  # its name in a reading; empty for Kind.OTHER
    kind: Kind
    unit: str
    medium: str = "1"  # A: 1 electricity, 0 things about the device

    @property
    def has_field(self) -> bool:
        """Whether a reading has a field of its own for it; the others stand under `other`."""
        return self.kind is not Kind.OTHER

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every way an adapter writes this code, the most usual first: the first one present wins."""
        if self.medium == "0":
            return (
                f"0-0:{self.code}",
                f"0-0:{self.code}.255",
                f"0-0:{self.code}*255",
                self.code,
                f"0.0:{self.code}",
            )
        return (
            f"1-0:{self.code}",
            f"1-1:{self.code}",
            f"1-0:{self.code}.255",
            f"1-0:{self.code}*255",
            self.code,
            f"1.0:{self.code}",
        )


def _counter(code: str, field: str, unit: str = "Wh") -> Register:
    return Register(code, field, Kind.COUNTER, unit)


def _moment(code: str, field: str, unit: str) -> Register:
    return Register(code, field, Kind.MOMENT, unit)


REGISTERS: tuple[Register, ...] = (
    _counter("1.8.0", "import_wh"),
    _counter("2.8.0", "export_wh"),
    *(_counter(f"1.8.{tariff}", f"import_t{tariff}_wh") for tariff in range(1, 5)),
    *(_counter(f"2.8.{tariff}", f"export_t{tariff}_wh") for tariff in range(1, 5)),
    _counter("3.8.0", "reactive_import_varh", "varh"),
    _counter("4.8.0", "reactive_export_varh", "varh"),
    _moment("1.7.0", "import_w", "W"),
    _moment("2.7.0", "export_w", "W"),
    _moment("3.7.0", "reactive_import_var", "var"),
    _moment("4.7.0", "reactive_export_var", "var"),
    _moment("32.7.0", "voltage_l1_v", "V"),
    _moment("52.7.0", "voltage_l2_v", "V"),
    _moment("72.7.0", "voltage_l3_v", "V"),
    _moment("31.7.0", "current_l1_a", "A"),
    _moment("51.7.0", "current_l2_a", "A"),
    _moment("71.7.0", "current_l3_a", "A"),
    _moment("13.7.0", "power_factor", "1"),
    _moment("14.7.0", "frequency_hz", "Hz"),
    *(
        Register(code, "meter_number", Kind.METER_NUMBER, "", medium="0")
        for code in ("96.1.0", "C.1.0", "0.0.1", "96.1.1")
    ),
    # Reactive energy by quadrant, absolute energy, maximum demand, power by phase, phase angles, prepayment.
    *(Register(f"{quadrant}.8.0", "", Kind.OTHER, "varh") for quadrant in range(5, 9)),
    Register("15.8.0", "", Kind.OTHER, "Wh"),
    Register("1.6.0", "", Kind.OTHER, "W"),
    *(Register(f"{phase}.7.0", "", Kind.OTHER, "W") for phase in (21, 41, 61, 22, 42, 62)),
    *(Register(f"81.7.{angle}", "", Kind.OTHER, "°") for angle in (40, 51, 62)),
    Register("1.128.0", "", Kind.OTHER, ""),
    # The clock, the COSEM logical device name, the text to the customer.
    *(Register(code, "", Kind.OTHER, "", medium="0") for code in ("1.0.0", "42.0.0", "96.13.0")),
)

MEASURED = tuple(register for register in REGISTERS if register.kind in (Kind.COUNTER, Kind.MOMENT))
METER_NUMBERS = tuple(register for register in REGISTERS if register.kind is Kind.METER_NUMBER)
# Texts that most devices send with every push: worth a column of their own where messages are read in bulk.
FREQUENT_OTHERS = ("0-0:1.0.0", "0-0:42.0.0", "0-0:96.13.0")
SPELLINGS: dict[str, Register] = {
    spelling: register for register in REGISTERS for spelling in register.spellings
}

# What an OBIS code looks like in any of the spellings; a key of another form is not a register ("firmware").
CODE_PATTERN = r"([0-9]{1,3}[-.][0-9]{1,3}:)?([0-9]{1,3}|[A-Z])\.[0-9]{1,3}\.[0-9]{1,3}([.*][0-9]{1,3})?"
_CODE = re.compile(CODE_PATTERN)

# What some devices send in place of a value that they do not have.
ERROR_VALUES = ("4294967295", "4294967.295")


def looks_like_a_code(key: str) -> bool:
    return _CODE.fullmatch(key) is not None
