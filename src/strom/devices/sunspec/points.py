"""SunSpec models as tables of points, made from the definitions that pysunspec2 ships, and how a point stands in registers.

It knows neither what a meter measures nor how registers travel.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

_SIGNED = ("int16", "sunssf")
# What a register of each type holds when there is no value. An accumulator has none but 0, which is also where one begins.
_ABSENT = {
    "int16": 0x8000,
    "sunssf": 0x8000,
    "pad": 0x8000,
    "uint16": 0xFFFF,
    "bitfield32": 0xFFFFFFFF,
    "acc32": 0,
    "string": 0,
}
ACCUMULATOR = "acc32"
HEADER = 2  # registers of a model's ID and length, before what the length counts


class SunSpecError(Exception):
    """Registers that are not the model they should be."""


@dataclass(frozen=True)
class Point:
    name: str
    type: str
    offset: int  # from the model's ID on
    size: int  # in registers
    scale: str | None  # the point that holds its power of ten
    mandatory: bool

    def raw(self, block: Sequence[int]) -> int | None:
        """The number in the registers, unscaled; None if not implemented. An accumulator's 0 is given as it stands."""
        value = 0
        for register in block[self.offset : self.offset + self.size]:
            value = value << 16 | register
        if self.type != ACCUMULATOR and value == _ABSENT[self.type]:
            return None
        return value - 0x10000 if self.type in _SIGNED and value & 0x8000 else value

    def put(self, block: list[int], value: int | None) -> None:
        """Write an unscaled number; None is 'not implemented'."""
        bits = _ABSENT[self.type] if value is None else value & ((1 << 16 * self.size) - 1)
        for place in range(self.size):
            block[self.offset + place] = bits >> 16 * (self.size - 1 - place) & 0xFFFF

    def text(self, block: Sequence[int]) -> str:
        """The string in the registers, up to the first NUL; empty if there is none."""
        content = b"".join(
            register.to_bytes(2, "big") for register in block[self.offset : self.offset + self.size]
        )
        return content.split(b"\0", 1)[0].decode("utf-8", "replace").strip()

    def fits(self, text: str) -> bool:
        return len(text.encode()) <= 2 * self.size and "\0" not in text

    def put_text(self, block: list[int], text: str) -> None:
        content = text.encode().ljust(2 * self.size, b"\0")
        for place in range(self.size):
            block[self.offset + place] = int.from_bytes(content[2 * place : 2 * place + 2], "big")


@dataclass(frozen=True)
class Model:
    number: int
    points: dict[str, Point]

    @cached_property
    def size(self) -> int:
        """Registers with the header."""
        return sum(point.size for point in self.points.values())

    def __getitem__(self, name: str) -> Point:
        return self.points[name]

    def scaled_by(self, scale: str) -> tuple[Point, ...]:
        """The points that share this scale factor."""
        return tuple(point for point in self.points.values() if point.scale == scale)

    @property
    def scales(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points.values() if point.type == "sunssf")

    def blank(self) -> list[int]:
        """The model with its header and nothing implemented."""
        block = [0] * self.size
        for point in self.points.values():
            point.put(block, None)
        self["ID"].put(block, self.number)
        self["L"].put(block, self.size - HEADER)
        return block

    def expect(self, block: Sequence[int], size: int) -> None:
        """Refuse registers that are another model, or fewer than so many."""
        if len(block) < size or block[0] != self.number or block[1] + HEADER < size:
            raise SunSpecError(f"these registers are not SunSpec model {self.number}")


def load_model(number: int) -> Model:
    """The model as SunSpec defines it."""
    definition = json.loads(files("sunspec2").joinpath(f"models/json/model_{number}.json").read_text())
    points: dict[str, Point] = {}
    offset = 0
    for row in definition["group"]["points"]:
        points[row["name"]] = Point(
            row["name"], row["type"], offset, row["size"], row.get("sf"), row.get("mandatory") == "M"
        )
        offset += row["size"]
    return Model(number, points)
