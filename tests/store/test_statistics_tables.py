"""Parts of a quarter-hour's statistics add up in the table, whichever way its readings were cut."""

import pytest

from strom.domain.statistics import QUANTITIES, Band
from strom.store.statistics_tables import (
    Part,
    add_statistics,
    load_statistics,
    replace_statistics,
)
from strom.store.writes import Writer, array_of

pytestmark = pytest.mark.stack
SLOT = 900_000


def part(meter: str, **values: list[int]) -> Part:
    bands = [Band.of(values[name]) if name in values else None for name in QUANTITIES]
    return (
        *(meter, SLOT),
        array_of(band.total if band else 0 for band in bands),
        array_of(band.count if band else 0 for band in bands),
        array_of(band.low if band else None for band in bands),
        array_of(band.high if band else None for band in bands),
    )


def test_parts_add_up_within_a_batch_and_to_what_is_stored(writer: Writer, meter: str) -> None:
    far = 10**18  # more than one of them does not fit 64 bits
    with writer.work() as work:
        add_statistics(work, [part(meter, import_w=[far, -3]), part(meter, import_w=[far])])
        add_statistics(work, [part(meter, import_w=[5], voltage_l3_v=[230_100])])
        found = load_statistics(work, [(meter, SLOT)])
    assert found == {
        (meter, SLOT): {"import_w": Band.of([far, -3, far, 5]), "voltage_l3_v": Band.of([230_100])}
    }


def test_a_whole_slot_takes_the_place_of_what_is_stored(writer: Writer, meter: str) -> None:
    with writer.work() as work:
        add_statistics(work, [part(meter, import_w=[7], export_w=[1])])
        replace_statistics(work, [part(meter, import_w=[9])])
        replace_statistics(work, [])
        assert load_statistics(work, [(meter, SLOT)]) == {(meter, SLOT): {"import_w": Band.of([9])}}


def test_the_parts_of_a_whole_slot_take_its_place_together(writer: Writer, meter: str) -> None:
    with writer.work() as work:
        add_statistics(work, [part(meter, import_w=[7])])
        changed = replace_statistics(work, [part(meter, import_w=[9]), part(meter, import_w=[5, 2])])
        assert changed == {(meter, SLOT)}
        assert replace_statistics(work, [part(meter, import_w=[9, 5, 2])]) == set()
        assert load_statistics(work, [(meter, SLOT)]) == {(meter, SLOT): {"import_w": Band.of([9, 5, 2])}}
