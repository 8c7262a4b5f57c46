"""What Spark has folded of what arrived from one meter, as the executors' Python gets it."""

from typing import Any, NamedTuple

import orjson

from strom.domain.clock import ClockWindow
from strom.domain.silences import Arrival


class ArrivalCell(NamedTuple):
    """Five minutes of a meter's own time: when their messages came, and whether their times fit that."""

    start: int
    first_t: int
    last_t: int
    samples: int
    received_first: int
    received: int
    received_step: int | None  # the largest between neighbours
    newest_received: int  # of the message with the latest time
    clock_odd: bool


class Newest(NamedTuple):
    """A meter's newest reading as JSON, what of it the table shows, and what the newest one with a number tells."""

    number_at: int | None
    meter_number: str | None
    values: list[str | None]  # import_w, export_w, import_wh, export_wh
    reading: str


class Arrived:
    """Of one meter; windows of its clock and single arrivals only where those were asked for."""

    __slots__ = ("arrivals", "cells", "meter", "newest", "windows", "windows_before")

    def __init__(self, meter: str, lines: str, newest: str, reading: str) -> None:
        self.meter = meter
        self.cells: list[ArrivalCell] = []
        self.arrivals: list[Arrival] = []
        self.windows: dict[int, ClockWindow] = {}
        self.windows_before: dict[int, ClockWindow] = {}
        _, number_at, number, *values = orjson.loads(newest)
        self.newest = Newest(number_at, number, values, reading)
        for kind, *values in orjson.loads(lines):
            if kind == "cell":
                self.cells.append(ArrivalCell(*values))
            elif kind == "arrival":
                self.arrivals.append((values[0], values[1]))
            else:
                found: Any = self.windows if kind == "window" else self.windows_before
                found[values[0]] = ClockWindow(*values)
        self.cells.sort()
