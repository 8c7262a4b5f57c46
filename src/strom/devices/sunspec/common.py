"""Who answers: SunSpec's common model (1), and what stands where in the adapter's.

| point | what the adapter puts there |
|---|---|
| `Mn`, `Md` | `Oesterreichs Energie`, `Smart Meter Adapter` |
| `SN` | the meter's number; where the meter tells none, the adapter's own id (`sma_AAEA40`) |
| `Opt` | the name that the owner typed, if it fits into 16 bytes, else nothing; of other products `Opt` is no name |
| `Vr` | the firmware's version |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from strom.devices.sunspec.points import load_model

COMMON = load_model(1)
MANUFACTURER, PRODUCT = "Oesterreichs Energie", "Smart Meter Adapter"

_BOX_ID = re.compile(r"sma_[0-9A-F]{6}")
_NEEDED = COMMON["SN"].offset + COMMON["SN"].size  # some devices leave out the end


@dataclass(frozen=True)
class Identity:
    box_id: str = ""
    name: str = ""
    meter_number: str | None = None
    version: str = ""
    manufacturer: str = MANUFACTURER
    product: str = PRODUCT


def encode_common(identity: Identity) -> list[int]:
    block = COMMON.blank()
    name = COMMON["Opt"]
    name.put_text(block, identity.name if name.fits(identity.name) else "")
    COMMON["Mn"].put_text(block, identity.manufacturer)
    COMMON["Md"].put_text(block, identity.product)
    COMMON["Vr"].put_text(block, identity.version)
    COMMON["SN"].put_text(block, identity.meter_number or identity.box_id)
    COMMON["DA"].put(block, 1)
    return block


def decode_common(block: Sequence[int]) -> Identity:
    """Whoever it is; SunSpecError if these registers are no common model."""
    COMMON.expect(block, _NEEDED)
    product, serial = COMMON["Md"].text(block), COMMON["SN"].text(block)
    own = _BOX_ID.fullmatch(serial) is not None
    return Identity(
        box_id=serial if own else "",
        name=COMMON["Opt"].text(block) if product == PRODUCT else "",
        meter_number=None if own or not serial else serial,
        version=COMMON["Vr"].text(block),
        manufacturer=COMMON["Mn"].text(block),
        product=product,
    )
