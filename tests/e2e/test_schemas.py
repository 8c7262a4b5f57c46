"""Real output of the whole stack, held against the JSON Schema of each topic's value."""

import json
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from strom.stack.supervisor import Stack
from strom.streams import topics
from tests.e2e.test_counts import counting_meter
from tests.e2e.way import await_outcomes, await_taken_in, publish, records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


TOPICS = (topics.READINGS, topics.LOAD_PROFILE, topics.ALERTS, topics.METERS)


def test_every_value_in_every_topic_has_its_schema(whole: Stack) -> None:
    fallen = counting_meter("gefallen", 9)
    fallen[-3:] = [_with_counter(payload, number) for number, payload in enumerate(fallen[-3:])]
    publish(whole.settings, [("sma", payload) for payload in fallen])
    await_outcomes(whole.settings, fallen)
    await_taken_in(whole.settings)
    for topic in TOPICS:
        schema = json.loads((files("strom.streams") / "schemas" / f"{topic}.json").read_text())
        validator = Draft202012Validator(schema)
        values = [record.value for record in records(whole.settings, topic) if record.value is not None]
        assert values, topic
        for value in values:
            validator.validate(json.loads(value))


def _with_counter(payload: bytes, value: int) -> bytes:
    message = json.loads(payload)
    message["1-0:1.8.0"]["value"] = value
    return json.dumps(message).encode()
