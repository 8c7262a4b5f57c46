"""Faults on request: planned, described beforehand, and seen in the payloads as described."""

from collections.abc import Callable
from typing import get_type_hints

import pytest

from strom.cli.demo import demo
from strom.cli.simulate import simulate
from strom.devices.adapter_json import decode
from strom.devices.simulator import Fault, FaultKind, Fleet, parse_kinds
from strom.devices.simulator.faults import MINUTE_MS
from strom.domain.reading import Rejected
from strom.errors import StromError

NOW = 1_794_758_400_000


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(60, seed=2, faults=FaultKind, faults_from_ms=NOW)


def of(fleet: Fleet, kind: FaultKind) -> list[Fault]:
    return [fault for fault in fleet.faults() if fault.kind is kind]


def payload(fleet: Fleet, fault: Fault, at_ms: int) -> bytes:
    sent = fleet.adapters[fault.index].payload(at_ms)
    assert sent is not None
    return sent


def test_every_fault_begins_within_the_first_minute(fleet: Fleet) -> None:
    assert {fault.kind for fault in fleet.faults()} == set(FaultKind)
    assert all(NOW < fault.starts_ms < NOW + MINUTE_MS for fault in fleet.faults())
    assert all(fault.meter == fleet.adapters[fault.index].key for fault in fleet.faults())


def test_the_plan_is_the_same_for_the_same_seed_and_one_fault_does_not_move_another(fleet: Fleet) -> None:
    again = Fleet(60, seed=2, faults=[FaultKind.VOLTAGE], faults_from_ms=NOW)
    assert list(again.faults()) == of(fleet, FaultKind.VOLTAGE)


def test_without_faults_nothing_is_wrong() -> None:
    fleet = Fleet(60, seed=2)
    assert fleet.faults() == ()
    for push in fleet.readings(NOW, NOW + MINUTE_MS, 5):
        decode(push.payload, received_ms=push.publish_ms, topic=push.topic)


def test_a_silent_meter_stops_for_minutes_and_returns(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.SILENT):
        adapter = fleet.adapters[fault.index]
        assert adapter.payload(fault.starts_ms - 1) is not None
        assert adapter.payload(fault.starts_ms) is None
        assert adapter.payload(fault.starts_ms + fault.length_ms) is not None
        assert adapter.payload(fault.starts_ms + fault.again_ms) is None


def test_a_wrong_clock_is_in_2005_or_a_day_ahead(fleet: Fleet) -> None:
    clocks = of(fleet, FaultKind.CLOCK)
    details = {fault.detail for fault in clocks}
    assert details == {"clock in January 2005", "clock a day ahead"}
    for fault in clocks:
        reading = decode(payload(fleet, fault, fault.starts_ms), received_ms=fault.starts_ms, topic="sma/x")
        assert reading["clock"] == "received"
        assert "clock-wrong" in reading["flags"]


def test_a_swapped_meter_counts_from_nearly_nothing_under_another_number(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.RESET):
        before = decode(payload(fleet, fault, fault.starts_ms - 1), received_ms=NOW)
        after = decode(payload(fleet, fault, fault.starts_ms + 5000), received_ms=NOW)
        much_later = decode(payload(fleet, fault, fault.starts_ms + 2 * 86_400_000), received_ms=NOW)
        assert after["meter"] == before["meter"]
        assert after["import_wh"] < 100 < before["import_wh"]
        assert after["import_wh"] < much_later["import_wh"] < 400_000
        assert after.get("meter_number") is None or after["meter_number"] != before["meter_number"]


def test_a_bad_voltage_lasts_longer_than_a_ten_minute_mean(fleet: Fleet) -> None:
    faults = of(fleet, FaultKind.VOLTAGE)
    assert {fault.value for fault in faults} == {190, 260}
    for fault in faults:
        for at_ms in (fault.starts_ms, fault.starts_ms + 11 * MINUTE_MS):
            reading = decode(payload(fleet, fault, at_ms), received_ms=at_ms, topic="sma/x")
            assert reading["voltage_l1_v"] == fault.value
        good = decode(
            payload(fleet, fault, fault.starts_ms + fault.length_ms), received_ms=NOW, topic="sma/x"
        )
        assert 207 < good["voltage_l1_v"] < 253


def test_a_lost_phase_leaves_the_others_as_they_were(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.PHASE_LOSS):
        reading = decode(payload(fleet, fault, fault.starts_ms), received_ms=fault.starts_ms, topic="sma/x")
        assert reading["voltage_l2_v"] == 3
        assert 207 < reading["voltage_l1_v"] < 253


def test_a_counter_that_jumped_stays_higher(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.JUMP):
        times = (fault.starts_ms - 1, fault.starts_ms, fault.starts_ms + 60 * MINUTE_MS)
        before, after, later = (
            decode(payload(fleet, fault, at_ms), received_ms=at_ms, topic="sma/x")["import_wh"]
            for at_ms in times
        )
        assert 499_000 < after - before < 501_000
        assert after <= later


def test_what_was_left_on_is_in_power_and_counter(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.LEFT_ON):
        adapter, hour_later = fleet.adapters[fault.index], fault.starts_ms + 60 * MINUTE_MS
        more = adapter.measure(hour_later).import_wh - adapter.meter.measure(hour_later).import_wh
        assert round(more) == 3000
        assert (
            round(adapter.measure(hour_later).import_w - adapter.meter.measure(hour_later).import_w) == 3000
        )


def test_an_overload_is_more_than_a_connection_carries(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.OVERLOAD):
        assert fleet.adapters[fault.index].measure(fault.starts_ms).import_w == pytest.approx(45_000)
        after = fleet.adapters[fault.index].measure(fault.starts_ms + fault.length_ms)
        assert after.import_w < 20_000


def test_a_plant_that_is_off_feeds_in_no_more(fleet: Fleet) -> None:
    for fault in of(fleet, FaultKind.PLANT_OFF):
        adapter = fleet.adapters[fault.index]
        days = [fault.starts_ms + hour * 60 * MINUTE_MS for hour in range(1, 48)]
        assert {adapter.measure(at_ms).export_w for at_ms in days} == {0.0}
        assert len({adapter.measure(at_ms).export_wh for at_ms in days}) == 1
        assert len({adapter.meter.measure(at_ms).export_wh for at_ms in days}) > 1


def test_malformed_payloads_come_in_four_forms_between_good_ones(fleet: Fleet) -> None:
    reasons, good = set(), 0
    faulty = {fault.index for fault in of(fleet, FaultKind.MALFORMED)}
    forms = set()
    for push in fleet.readings(NOW, NOW + 5 * MINUTE_MS, 5):
        adapter = push.adapter
        if adapter.meter.index not in faulty:
            continue
        try:
            decode(push.payload, received_ms=push.publish_ms, topic=push.topic)
            good += 1
            assert not adapter.spoils(push.publish_ms)
        except Rejected as rejection:
            assert adapter.spoils(push.publish_ms)
            reasons.add(rejection.reason)
            forms.add(push.payload[:1])
    assert reasons == {"not-json", "not-an-object"}
    assert forms == {b"", b"[", b"{", b"\xff"}
    assert good


def test_one_meter_can_have_every_fault_that_fits_it() -> None:
    fleet = Fleet(1, seed=5, faults=FaultKind, faults_from_ms=NOW)
    for push in fleet.readings(NOW, NOW + 30 * MINUTE_MS, 5):
        assert isinstance(push.payload, bytes)
    assert fleet.faults()


def test_kinds_are_parsed_and_wrong_ones_refused_by_name() -> None:
    assert parse_kinds("all") == tuple(FaultKind)
    assert parse_kinds("clock, silent,clock") == (FaultKind.CLOCK, FaultKind.SILENT)
    assert parse_kinds(None) == ()
    with pytest.raises(StromError, match="'loud' is no fault"):
        parse_kinds("silent,loud")


@pytest.mark.parametrize("verb", [simulate, demo])
def test_the_help_names_every_fault(verb: Callable[..., None]) -> None:
    option = get_type_hints(verb, include_extras=True)["faults"].__metadata__[0]
    assert option.help.startswith(", ".join(FaultKind))
