"""Every dialect: its samples become what they must, and nothing that comes raises anything but the declared rejection."""

import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strom.devices.registry import DIALECTS, dialects_of
from strom.devices.tasmota_sml import BY_PHASE, WELL_KNOWN
from strom.domain.dialects import ADAPTER_JSON, NAMES
from strom.domain.reading import NUMBER_FIELDS, REASONS
from strom.domain.units import METER_NUMBER, NET_W, meaning
from strom.settings import Settings
from tests.devices.samples import OTHERS, PAYLOADS, Sample, outcome, samples

SAMPLES = samples()


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_sample_comes_out_as_expected(sample: Sample) -> None:
    assert outcome(sample.dialect, sample.payload, sample.topic, sample.received_ms) == sample.expected


@pytest.mark.parametrize("dialect", OTHERS)
def test_every_sample_has_an_outcome_and_an_origin(dialect: str) -> None:
    origins = (PAYLOADS / dialect / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in (PAYLOADS / dialect).iterdir()} - {"README.md", "expected.json"}
    assert files == {sample.name for sample in SAMPLES if sample.dialect == dialect}
    assert not [name for name in files if f"`{name}`" not in origins]


def test_every_name_has_a_dialect_and_only_the_adapters_is_native() -> None:
    assert tuple(DIALECTS) == NAMES
    assert [dialect.name for dialect in DIALECTS.values() if dialect.native] == [ADAPTER_JSON]


@pytest.mark.parametrize("name", NAMES)
def test_a_dialect_can_be_sent_to_another_process(name: str) -> None:
    there = pickle.loads(pickle.dumps(dialects_of(Settings())[name]))  # noqa: S301
    sample = next((each for each in SAMPLES if each.dialect == name and "meter" in each.expected), None)
    if sample is not None:
        found = there.decode(sample.payload, received_ms=sample.received_ms, topic=sample.topic)
        assert found == sample.expected
    assert there.key_of("a/b") == DIALECTS[name].key_of("a/b")


def test_the_telegram_library_is_loaded_with_the_first_telegram_only() -> None:
    code = "import sys, strom.ingest.bridge; print('dsmr_parser' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_well_known_name_means_a_field_once() -> None:
    fields = {*NUMBER_FIELDS, NET_W, METER_NUMBER}
    rows = {**WELL_KNOWN, **{text.format(1): names for text, names in BY_PHASE.items()}}
    told = {text: meaning(text) for text in rows}
    assert all(each is not None and each.field in fields for each in told.values())
    names = [name for each in rows.values() for name in each]
    assert len(names) == len(set(names))


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["230.1", "4294967295", "2025-11-15T20:15:00", "0" * 14, "\ud800", "a\x00b", 1e300, -1])
)
keys = st.text(max_size=10) | st.sampled_from(
    sorted(
        {
            *(
                "Time",
                "StatusSNS",
                "SML",
                "TotalStartTime",
                "src",
                "params",
                "result",
                "ts",
                "emeters",
                "mac",
                "unixtime",
            ),
            *(
                "em:0",
                "emdata:0",
                "total_act_power",
                "a_voltage",
                "a_freq",
                "a_errors",
                "errors",
                "total_act",
            ),
            *(
                "Total_in",
                "Power_curr",
                "Power_in",
                "1_8_0",
                "Meter_id",
                "Volt_p1",
                "is_valid",
                "total",
                "power",
            ),
        }
    )
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=20,
)
topics = st.none() | st.text(max_size=30) | st.sampled_from([sample.topic for sample in SAMPLES])


def is_declared(dialect: str, payload: bytes, topic: str | None) -> bool:
    """Whether it is read or refused for a known reason, and its topic gives a key."""
    found = outcome(dialect, payload, topic)
    has_key = topic is None or isinstance(DIALECTS[dialect].key_of(topic), str)
    return has_key and bool(found.get("reason") in REASONS or found["meter"])


@pytest.mark.parametrize("dialect", NAMES)
@given(payload=st.binary(max_size=300) | st.text(max_size=300).map(str.encode), topic=topics)
def test_no_bytes_raise_anything_else(dialect: str, payload: bytes, topic: str | None) -> None:
    assert is_declared(dialect, payload, topic)


@pytest.mark.parametrize("dialect", NAMES)
@given(message=trees, topic=topics)
def test_no_json_raises_anything_else(dialect: str, message: object, topic: str | None) -> None:
    assert is_declared(dialect, json.dumps(message).encode(), topic)


@pytest.mark.parametrize("dialect", OTHERS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_spoilt_sample_raises_anything_else(dialect: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from([each for each in SAMPLES if each.dialect == dialect]))
    payload = bytearray(sample.payload)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(payload)))
        end = data.draw(st.integers(start, min(len(payload), start + 40)))
        payload[start:end] = data.draw(
            st.binary(max_size=8) | st.sampled_from([b"", b"*", b"()", b"\n!", b"[", b'"', b"9" * 40])
        )
    assert is_declared(dialect, bytes(payload), sample.topic)


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("depth", [900, 988, 990, 995, 100_000])
def test_no_depth_raises_anything_else(dialect: str, depth: int) -> None:
    names = b'{"Time":"x","SML":{"Total_in":%b},"total_act":%b,"1-0:1.8.0":{"value":%b},"name":%b}'
    nested = b"[" * depth + b"]" * depth
    assert is_declared(dialect, names % ((nested,) * 4), "tele/x/SENSOR")
    assert is_declared(dialect, nested, "tele/x/SENSOR")
