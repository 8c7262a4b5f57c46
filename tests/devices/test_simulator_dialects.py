"""Every shape that simulated adapters send is JSON that Strom can read as the meter measured it."""

import json

import pytest

from strom.devices.adapter_json import decode
from strom.devices.simulator import Adapter, Fleet
from strom.devices.simulator.dialects import DIALECTS
from strom.domain.obis import SPELLINGS, looks_like_a_code

NOW = 1_794_758_400_000  # 2026-11-15T16:00:00Z


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(60, seed=4)


def speaker(fleet: Fleet, dialect: str) -> Adapter:
    return next(adapter for adapter in fleet.adapters if adapter.dialect.name == dialect)


def sent(fleet: Fleet, dialect: str) -> dict[str, dict[str, object]]:
    payload = speaker(fleet, dialect).payload(NOW)
    assert payload is not None
    found: dict[str, dict[str, object]] = json.loads(payload)
    return found


@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
def test_a_dialect_reads_back_as_what_the_meter_measured(fleet: Fleet, dialect: str) -> None:
    adapter = speaker(fleet, dialect)
    payload = adapter.payload(NOW)
    assert payload is not None
    reading = decode(payload, received_ms=NOW, topic=adapter.topic("sma"))
    measured = adapter.measure(NOW)._asdict()
    assert reading["meter"] == adapter.key
    for field in adapter.dialect.fields:
        assert reading[field] == pytest.approx(measured[field], abs=1.0), field
    assert set(adapter.dialect.fields) <= set(reading)


@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
def test_a_dialect_spells_every_measured_register_as_the_table_knows_it(fleet: Fleet, dialect: str) -> None:
    known = [SPELLINGS[key].field for key in sent(fleet, dialect) if key in SPELLINGS]
    assert set(speaker(fleet, dialect).dialect.fields) <= set(known)
    assert len(known) == len(set(known)) or dialect == "unknown-codes"


def test_all_six_spellings_are_spoken(fleet: Fleet) -> None:
    spellings = {adapter.dialect.spelling for adapter in fleet.adapters}
    assert {spelling.format("1.8.0") for spelling in spellings} == set(SPELLINGS["1-0:1.8.0"].spellings)


def test_forty_meters_speak_every_dialect() -> None:
    assert {adapter.dialect.name for adapter in Fleet(40).adapters} == {dialect.name for dialect in DIALECTS}


def test_a_meter_keeps_its_dialect(fleet: Fleet) -> None:
    for adapter in fleet.adapters:
        one, other = adapter.payload(NOW), adapter.payload(NOW + 3_600_000)
        assert one is not None
        assert other is not None
        assert list(json.loads(one)) == list(json.loads(other))


def test_netz_ooe_shows_the_local_clock_and_pushes_five_times_as_often(fleet: Fleet) -> None:
    adapter = speaker(fleet, "netz-ooe")
    assert sent(fleet, "netz-ooe")["0-0:1.0.0"]["value"] == "2026-11-15 17:00:00"
    pushes = [push for push in fleet.readings(NOW, NOW + 5_000, 5) if push.adapter is adapter]
    assert len(pushes) == 5


def test_tariffs_come_without_a_total_and_switch_by_the_time_of_day(fleet: Fleet) -> None:
    adapter = speaker(fleet, "tariffs")
    assert "1-0:1.8.0" not in sent(fleet, "tariffs")
    night, day = 1_794_790_800_000, NOW  # 02:00 and 17:00 in Vienna
    for moment, grows, rests in (
        (day, "import_t1_wh", "import_t2_wh"),
        (night, "import_t2_wh", "import_t1_wh"),
    ):
        before, after = adapter.measure(moment)._asdict(), adapter.measure(moment + 600_000)._asdict()
        assert after[grows] > before[grows]
        assert after[rests] == pytest.approx(before[rests])


def test_some_registers_tell_no_time_or_zero(fleet: Fleet) -> None:
    assert sent(fleet, "time-zero")["1-0:1.7.0"]["time"] == 0
    assert sent(fleet, "time-zero")["1-0:1.8.0"]["time"] == NOW // 1000
    assert "time" not in sent(fleet, "some-times")["1-0:1.7.0"]
    assert not any("time" in entry for entry in sent(fleet, "no-time").values() if isinstance(entry, dict))


def test_adapters_without_a_name_publish_below_the_topic(fleet: Fleet) -> None:
    for dialect in ("unnamed", "nameless"):
        adapter = speaker(fleet, dialect)
        assert sent(fleet, dialect)["name"] == ""  # type: ignore[comparison-overlap]
        assert adapter.topic("sma") == f"sma/{adapter.client_id}"
    assert speaker(fleet, "standard").topic("sma") == "sma"


def test_unknown_codes_stand_beside_known_ones(fleet: Fleet) -> None:
    unknown = [key for key in sent(fleet, "unknown-codes") if looks_like_a_code(key) and key not in SPELLINGS]
    assert "1-0:99.99.9" in unknown
