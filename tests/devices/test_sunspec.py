"""Model 203 both ways: what the adapter writes into registers is what the poller reads out of them."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.devices import adapter_json
from strom.devices.sunspec import (
    COMMON,
    END,
    MARKER,
    METER,
    Identity,
    SunSpecError,
    as_adapter_json,
    decode_common,
    decode_meter,
    encode_common,
    encode_map,
    encode_meter,
)
from strom.devices.sunspec.meter import COUNTERS, MOMENTS, NETS
from strom.domain.load_profile import Direction, Sample, evaluate, profile
from strom.domain.segments import Quality, Rules

NOT_IMPLEMENTED = 0x8000
REGISTERS = st.integers(0, 0xFFFF)
DECIMALS = {"Ph": 1, "Ap": 2, "PF": 3, "Hz": 2}
LARGEST_COUNTER = 0xFFFFFFFE  # one more is an adapter's error value


def measured(**values: str) -> dict[str, Decimal]:
    return {field: Decimal(value) for field, value in values.items()}


@st.composite
def what_a_house_measures(draw: st.DrawFn) -> dict[str, Decimal]:
    """Any part of what a meter may deliver, in steps that its registers have."""
    values: dict[str, Decimal] = {}
    for moment in draw(st.sets(st.sampled_from(MOMENTS))):
        values[moment.field] = Decimal(draw(st.integers(0, 3000))).scaleb(-DECIMALS[moment.point[:2]])
    for net in draw(st.sets(st.sampled_from(NETS))):
        power = Decimal(draw(st.integers(-32767, 32767))).scaleb(-1)
        values[net.taken], values[net.fed_in] = max(power, Decimal(0)), max(-power, Decimal(0))
    for pair in draw(st.sets(st.sampled_from((COUNTERS[:2], COUNTERS[2:])))):
        for counter in pair:
            values[counter.field] = Decimal(draw(st.integers(1, LARGEST_COUNTER)))
    return values


@given(what_a_house_measures())
def test_what_is_written_into_registers_is_read_out_of_them(values: dict[str, Decimal]) -> None:
    assert decode_meter(encode_meter(values)) == values


@given(what_a_house_measures(), st.text(max_size=20), st.sampled_from([None, "1KFM0200123456"]))
def test_the_reading_made_of_registers_says_the_same(
    values: dict[str, Decimal], name: str, number: str | None
) -> None:
    values["import_w"], values["export_w"] = Decimal(5), Decimal(0)
    message = as_adapter_json(values, name=name or "m", meter_number=number)
    reading = adapter_json.decode(message, received_ms=1_800_000_000_000, source="modbus", topic="m")
    assert {field: Decimal(str(reading[field])) for field in values} == values
    assert reading.get("meter_number") == number
    assert (reading["clock"], reading["flags"][0]) == ("received", "no-time")


@given(st.lists(REGISTERS, min_size=METER.size, max_size=METER.size))
def test_whatever_stands_in_the_registers_is_read_or_refused(registers: list[int]) -> None:
    header = encode_meter({})[:2]
    values = decode_meter(header + registers[2:])
    json.loads(as_adapter_json(values, name="m"))
    with pytest.raises(SunSpecError):
        decode_meter([204, *header[1:], *registers[2:]])


@given(st.lists(REGISTERS, max_size=COMMON.size))
def test_any_registers_have_an_identity_or_none(registers: list[int]) -> None:
    with pytest.raises(SunSpecError):
        decode_common([7, *registers[1:]])
    decode_common(encode_common(Identity())[:2] + registers + [0] * COMMON.size)


@given(st.decimals(-40_000_000, 40_000_000, places=1))
def test_a_large_power_takes_a_coarser_scale_and_stays_the_nearest_step(power: Decimal) -> None:
    block = encode_meter({"import_w": max(power, Decimal(0)), "export_w": max(-power, Decimal(0))})
    scale = METER["W_SF"].raw(block)
    assert scale is not None
    step = Decimal(1).scaleb(scale)
    read = decode_meter(block)
    assert abs(read["import_w"] - read["export_w"] - power) <= step / 2


def test_the_map_is_the_marker_the_two_models_and_the_end() -> None:
    registers = encode_map(Identity("sma_AAEA40"), {})
    assert tuple(registers[:2]) == MARKER
    assert b"".join(each.to_bytes(2, "big") for each in registers[:2]) == b"SunS"
    assert registers[2:4] == [1, 66]
    assert registers[70:72] == [203, 105]
    assert registers[177:] == [END, 0]


def test_what_the_meter_does_not_deliver_is_not_implemented() -> None:
    block = encode_meter(measured(import_wh="7", import_w="5"))
    for point in METER.points.values():
        stands = block[point.offset : point.offset + point.size]
        if point.name not in ("ID", "L", "W", "W_SF", "A_SF", "V_SF", "TotWhImp", "TotWh_SF", "Evt"):
            assert stands == ([0, 0] if point.type == "acc32" else [NOT_IMPLEMENTED]), point.name
    assert decode_meter(block) == measured(import_wh="7", export_wh="0", import_w="5", export_w="0")


def test_counters_that_all_stand_at_0_are_absent_and_one_beside_a_counting_one_is_0() -> None:
    assert decode_meter(encode_meter(measured(import_wh="0", export_wh="0"))) == {}
    assert decode_meter(encode_meter(measured(import_wh="0", export_wh="3"))) == measured(
        import_wh="0", export_wh="3"
    )
    assert decode_meter(encode_meter(measured(reactive_export_varh="3"))) == measured(
        reactive_import_varh="0", reactive_export_varh="3"
    )


def test_a_house_that_has_never_fed_in_has_measured_quarter_hours() -> None:
    """Were its export taken as absent, power would stand in for it: docs/decisions/a-counter-of-0-by-modbus.md."""
    rules = Rules(limit_w=50_000, noise_mwh=0, exact_ms=60_000, linear_ms=3_600_000)
    taken: dict[Direction, list[Sample]] = {direction: [] for direction in Direction}
    for minute in range(61):
        house = measured(import_wh=str(10 * minute + 1), export_wh="0", import_w="600", export_w="0")
        read = decode_meter(encode_meter(house))
        for direction, samples in taken.items():
            counter, power = read[f"{direction}_wh"], read[f"{direction}_w"]
            samples.append(Sample(minute * 60_000, int(counter * 1000), int(power * 1000)))
    rows = profile({direction: evaluate(samples, rules) for direction, samples in taken.items()})
    assert [(row.quality, row.exported and row.exported.mwh) for row in rows] == [(Quality.MEASURED, 0)] * 4


def test_a_counter_shows_whole_watt_hours_that_are_complete_and_rolls_over() -> None:
    assert decode_meter(encode_meter(measured(import_wh="12.999")))["import_wh"] == 12
    assert decode_meter(encode_meter(measured(import_wh=str(2**32 + 5))))["import_wh"] == 5


def test_reactive_energy_of_other_devices_is_the_sum_of_its_quadrants() -> None:
    block = encode_meter(measured(reactive_import_varh="30", reactive_export_varh="4"))
    METER["TotVArhImpQ2"].put(block, 12)
    METER["TotVArhExpQ3"].put(block, 1)
    METER["TotVArh_SF"].put(block, 1)
    assert decode_meter(block) == measured(reactive_import_varh="420", reactive_export_varh="50")


def test_a_group_without_a_valid_scale_factor_is_left_out() -> None:
    block = encode_meter(measured(import_w="5", export_w="0", voltage_l1_v="230.1"))
    METER["W_SF"].put(block, 11)
    METER["V_SF"].put(block, None)
    assert decode_meter(block) == {}


def test_mean_voltage_and_total_current_are_worked_out_from_all_three_phases_only() -> None:
    volts = measured(voltage_l1_v="230", voltage_l2_v="231", voltage_l3_v="235")
    amperes = measured(current_l1_a="1.5", current_l2_a="2", current_l3_a="0.25")
    block = encode_meter(volts | amperes)
    assert (METER["PhV"].raw(block), METER["A"].raw(block)) == (2320, 375)
    del volts["voltage_l2_v"]
    assert METER["PhV"].raw(encode_meter(volts)) is None


@pytest.mark.parametrize(
    ("given_identity", "read"),
    [
        (Identity("sma_AAEA40", "wohnung-1", "1KFM0200123456"), Identity("", "wohnung-1", "1KFM0200123456")),
        (Identity("sma_AAEA40", "Küche"), Identity("sma_AAEA40", "Küche", None)),
        (Identity("sma_AAEA40", "a name that is too long for it", "7"), Identity("", "", "7")),
        (Identity("", "OPT-7", "99", product="Other"), Identity("", "", "99", product="Other")),
    ],
)
def test_the_common_model_tells_who_it_is(given_identity: Identity, read: Identity) -> None:
    assert decode_common(encode_common(given_identity)) == read
