"""Units: what a value is multiplied with to be in the unit that its field of a reading has."""

from typing import NamedTuple

from strom.domain.obis import MEASURED

NET_W = "net_w"  # one power for both directions, negative when feeding in; becomes `import_w` and `export_w`
METER_NUMBER = "meter_number"

UNITS = {register.field: register.unit for register in MEASURED} | {NET_W: "W"}


class Meaning(NamedTuple):
    """What a value under some name is: a field of a reading, and the factor to its unit."""

    field: str
    factor: int = 1


def factor(told: str, wanted: str) -> int | None:
    """1 or 1000, however the letters are written; None if it is another unit. Without one it is a plain number."""
    unit = told.lower() or "1"
    return {wanted.lower(): 1, f"k{wanted.lower()}": 1000}.get(unit)


def meaning(text: str) -> Meaning | None:
    """What `import_wh kWh` says: the field and, if it is not in the field's own, the unit. None if it says nothing."""
    field, _, told = text.partition(" ")
    if field == METER_NUMBER and not told:
        return Meaning(field)
    times = factor(told or UNITS[field], UNITS[field]) if field in UNITS else None
    return None if times is None else Meaning(field, times)
