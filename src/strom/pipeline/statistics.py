"""The statistics of the quarter-hours that cells touch: added to what is stored while readings come in order."""

from collections.abc import Mapping, Sequence

from strom.domain.slots import slot_of
from strom.pipeline.process.folded import Cell
from strom.store.statistics_tables import Key, Part, add_statistics, replace_statistics
from strom.store.writes import Work


def update_statistics(
    work: Work, added: Mapping[str, Sequence[Cell]], whole: Mapping[str, Sequence[Cell]]
) -> set[Key]:
    """Bring every touched slot up to date; returns those that are others now of the slots that are `whole`."""
    add_statistics(work, _parts(added))
    return replace_statistics(work, _parts(whole))


def _parts(cells: Mapping[str, Sequence[Cell]]) -> list[Part]:
    return [(meter, slot_of(cell.start), *cell.bands) for meter, own in cells.items() for cell in own]
