"""What a box knows of its meter at any moment, without a socket."""

from decimal import Decimal

from strom.devices.box.pushes import Pushes, with_totals
from strom.devices.clock import HeldClock
from strom.devices.simulator import FaultKind, Fleet, Wish
from strom.devices.simulator.dialects import dialect_named

NOW = 1_763_145_000_000


def pushes(clock: HeldClock, interval_s: float = 5, faults: tuple[FaultKind, ...] = ()) -> Pushes:
    [adapter] = Fleet(
        1, faults=faults, faults_from_ms=NOW, wish=Wish(dialect=dialect_named("standard"))
    ).adapters
    return Pushes(adapter, interval_s, clock, clock.now_ms)


def test_a_box_knows_nothing_before_the_first_push_after_its_start() -> None:
    clock = HeldClock(NOW + 1)
    box = pushes(clock)
    assert box.last() is None
    assert (box.packages().valid, box.packages().invalid) == (0, 0)
    clock.advance(5)
    last = box.last()
    assert last is not None
    assert last.at_ms == NOW + 5_000
    assert box.packages().valid == 1


def test_a_push_is_kept_for_a_minute_even_where_the_next_comes_later() -> None:
    clock = HeldClock(NOW)
    box = pushes(clock, interval_s=900)
    assert box.last() is not None
    clock.advance(60)
    assert box.last() is not None
    clock.advance(0.001)
    assert box.last() is None
    clock.advance(840)
    assert box.last() is not None


def test_a_silent_meter_is_silent_whatever_else_is_wrong_with_it() -> None:
    clock = HeldClock(NOW)
    box = pushes(clock, faults=tuple(FaultKind))
    [silent] = [fault for fault in box.adapter.faults if fault.kind is FaultKind.SILENT]
    clock.now_ms = silent.starts_ms + 1_000
    before = box.last()
    clock.now_ms = silent.starts_ms + 50_000
    assert box.last() == before
    counted = box.packages().valid + box.packages().invalid
    clock.now_ms = silent.starts_ms + silent.length_ms - 5_001
    assert box.last() is None
    assert box.packages().valid + box.packages().invalid == counted


def test_counters_by_tariff_are_added_up_and_a_total_that_is_there_is_left() -> None:
    tariffs = {"import_t1_wh": Decimal(5), "import_t2_wh": Decimal(7)}
    assert with_totals(tariffs) == tariffs | {"import_wh": Decimal(12)}
    assert with_totals(tariffs | {"import_wh": Decimal(13)})["import_wh"] == 13
    assert "export_wh" not in with_totals(tariffs)
