"""Through MQTT, Kafka and Spark every sample becomes what it must, and no payload stops the stream."""

import json
from pathlib import Path
from typing import Any

import pytest

from strom.domain.reading import REASONS
from strom.stack.supervisor import Stack
from strom.streams import topics
from tests.e2e.way import Outcome, await_outcomes, await_taken_in, publish

PAYLOADS = Path(__file__).parent.parent / "payloads"
EXPECTED: dict[str, dict[str, Any]] = json.loads((PAYLOADS / "expected.json").read_text())

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


def assert_as_expected(outcome: Outcome, expected: dict[str, Any]) -> None:
    if "reason" in expected:
        assert (outcome.topic, outcome.headers["strom-reason"]) == (topics.DEAD_LETTER, expected["reason"])
        assert outcome.value == outcome.payload
        return
    assert outcome.topic == topics.READINGS
    reading = json.loads(outcome.value)
    plain = {key: value for key, value in expected.items() if key not in ("absent", "flags")}
    assert {key: reading.get(key) for key in plain} == plain
    assert not set(expected.get("absent", [])) & set(reading)
    assert set(expected.get("flags", [])) <= set(reading.get("flags", []))


def test_samples_come_out_as_expected_through_kafka_and_spark(whole: Stack) -> None:
    payloads = {name: (PAYLOADS / name).read_bytes() for name in EXPECTED}
    assert publish(whole.settings, [("sma", payload) for payload in payloads.values()]) == len(EXPECTED)
    for name, outcome in zip(payloads, await_outcomes(whole.settings, list(payloads.values())), strict=True):
        assert_as_expected(outcome, EXPECTED[name])


def test_hostile_payloads_end_in_the_dead_letter_and_the_stream_goes_on(whole: Stack) -> None:
    hostile = [
        b"",
        b"\x00\xff\xfe" * 100,
        b"x" * 1_000_000,
        b'{"filler":"' + b"y" * 1_000_000 + b'"}',
        b"[" * 200_000,
        b'{"name":"a","1-0:1.8.0":{"value":1}} trailing',
        b'{"name":"a","1-0:1.8.0":{"value":NaN}}',
    ]
    good = b'{"name":"after-the-storm","1-0:1.8.0":{"value":1}}'
    published = publish(whole.settings, [("sma", payload) for payload in (*hostile, good)])
    assert published == len(hostile) + 1
    *refused, survivor = await_outcomes(whole.settings, [*hostile, good])
    for outcome in refused:
        assert outcome.topic == topics.DEAD_LETTER
        assert outcome.headers["strom-reason"] in REASONS
        assert outcome.headers["strom-detail"]
        assert outcome.value == outcome.payload
    assert json.loads(survivor.value)["meter"] == "after-the-storm"


def test_absurd_readings_do_not_stop_the_tables(whole: Stack) -> None:
    absurd = [
        b'{"name":"a\\u0000b","1-0:1.8.0":{"value":1}}',
        b'{"name":"absurd","1-0:1.8.0":{"value":999999999999999.999},"0.2.2":{"value":"x\\u0000y"}}',
        *(
            b'{"name":"absurd","1-0:32.7.0":{"value":999999999999999,"time":%d}}' % time
            for time in range(1_763_229_600, 1_763_229_640)
        ),
    ]
    publish(whole.settings, [("sma/keller", payload) for payload in absurd])
    first, second, *_ = await_outcomes(whole.settings, absurd)
    assert json.loads(first.value)["meter"] == "keller"
    assert json.loads(second.value)["flags"] == ["bad-value", "no-time"]
    await_taken_in(whole.settings)
