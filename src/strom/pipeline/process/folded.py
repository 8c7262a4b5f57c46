"""What Spark has folded of one meter, as the executors' Python gets it: cells, and single readings where those were asked for."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from strom.domain.acceptance import Point
from strom.domain.load_profile import Direction
from strom.domain.segments import Measure
from strom.domain.tariffs import Owner, Tariff


class Part(NamedTuple):
    """The values of one direction in a cell. `normal`: whether each followed the one before it normally."""

    samples: int
    first_t: int
    last_t: int
    first_v: int
    last_v: int
    normal: bool
    counter: bool
    held: str | None  # mW·ms from the first to the last, each power held until the next


class SeriesCell(NamedTuple):
    """What import and export, of a meter or of a tariff, take from five minutes."""

    start: int
    imported: Part
    exported: Part

    def part(self, direction: Direction) -> Part:
        return self.imported if direction is Direction.IMPORT else self.exported


class Cell(NamedTuple):
    """The five minutes of a meter; `first_t` is None where only its series reach into them."""

    start: int
    series: SeriesCell
    first_t: int | None
    last_t: int
    has_tariffs: bool
    odd: bool
    bands: tuple[str, str, str, str]  # totals, counts, lows, highs, as Postgres writes arrays
    mv: tuple[int, int, int]  # sum of each phase's voltages
    volts: tuple[int, int, int]  # and how many
    last: int | None  # a digest of the values at `last_t`

    def repeats(self, newest: int, last: int | None) -> bool:
        """Whether all in it is the moment that is settled as the newest one, with the same values."""
        return self.first_t == self.last_t == newest and self.last == last and not self.has_tariffs


class Moment(NamedTuple):
    """A reading as the series and the runs see it: mWh, mW and mV."""

    t: int
    import_c: int | None
    import_p: int | None
    export_c: int | None
    export_p: int | None
    l1: int | None
    l2: int | None
    l3: int | None

    def value(self, direction: Direction, measure: Measure) -> int | None:
        if measure is Measure.COUNTER:
            return self.import_c if direction is Direction.IMPORT else self.export_c
        return self.import_p if direction is Direction.IMPORT else self.export_p

    def by_name(self) -> dict[str, int | None]:
        """As the kinds of runs look at it."""
        return {"import": self.import_p, "export": self.export_p, "l1": self.l1, "l2": self.l2, "l3": self.l3}


class TariffMoment(NamedTuple):
    t: int
    import_c: int | None
    export_c: int | None


class Folded:
    """Of one meter, each in order of time. Its parts are numbered: what goes on behind all that is stored is part 0, late windows follow."""

    __slots__ = ("_cells", "_tariffs", "meter", "moments", "tariff_moments")

    def __init__(self, meter: str, lines: str) -> None:
        self.meter = meter
        self.moments: list[Moment] = []
        self.tariff_moments: defaultdict[int, list[TariffMoment]] = defaultdict(list)
        self._cells: defaultdict[int, list[Cell]] = defaultdict(list)
        self._tariffs: defaultdict[tuple[int, int], list[SeriesCell]] = defaultdict(list)
        for kind, *values in orjson.loads(lines):
            if kind == "cell":
                self._cells[values[0]].append(_cell(values[1:]))
            elif kind == "tariff":
                self._tariffs[values[0], values[1]].append(_series_cell(values[2:]))
            elif kind == "moment":
                self.moments.append(Moment(*values))
            else:
                self.tariff_moments[values[0]].append(TariffMoment(*values[1:]))
        self.moments.sort()
        for cells in self._cells.values():
            cells.sort()
        for series in self._tariffs.values():
            series.sort()
        for moments in self.tariff_moments.values():
            moments.sort()

    def cells(self, part: int = 0) -> list[Cell]:
        """Those that hold readings; where readings came late, some are there for the series alone."""
        return [cell for cell in self._cells.get(part, ()) if cell.first_t is not None]

    def leave_out(self, cell: Cell) -> None:
        """One of part 0."""
        self._cells[0].remove(cell)

    def series(self, part: int = 0) -> Iterator[tuple[Owner, Sequence[SeriesCell]]]:
        """What the series of the meter and of its tariffs take."""
        yield self.meter, [cell.series for cell in self._cells.get(part, ())]
        for (of, number), cells in self._tariffs.items():
            if of == part:
                yield Tariff(self.meter, number), cells

    def points(self, direction: Direction, tariff: int | None, measure: Measure, since: int) -> list[Point]:
        """The readings of one series behind a time."""
        if tariff is None:
            found = ((each.t, each.value(direction, measure)) for each in self.moments)
        else:
            imports = direction is Direction.IMPORT
            found = (
                (each.t, each.import_c if imports else each.export_c) for each in self.tariff_moments[tariff]
            )
        return [(t, value) for t, value in found if value is not None and t > since]


def _cell(values: Sequence[Any]) -> Cell:
    start, first_t, last_t, has_tariffs, odd = values[:5]
    volts = values[25:31]
    return Cell(
        start,
        SeriesCell(start, Part(*values[5:13]), Part(*values[13:21])),
        first_t,
        last_t,
        bool(has_tariffs),
        odd,
        (values[21], values[22], values[23], values[24]),
        (volts[0] or 0, volts[2] or 0, volts[4] or 0),
        (volts[1], volts[3], volts[5]),
        values[31],
    )


def _series_cell(values: Sequence[Any]) -> SeriesCell:
    return SeriesCell(values[0], Part(*values[1:9]), Part(*values[9:17]))
