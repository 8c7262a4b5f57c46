"""What is sent to the raw topic in a transaction is read when that is committed, and not at all when it is aborted."""

import json
from contextlib import suppress

import pytest

from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.producer import Producer
from tests.e2e.way import await_outcomes, records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


def message(name: str) -> bytes:
    return json.dumps({"name": name, "1-0:1.8.0": {"value": 1}}).encode()


class ChangedMindError(Exception):
    pass


def test_an_aborted_transaction_leaves_no_reading_and_those_around_it_go_on(whole: Stack) -> None:
    first, aborted, second, after = (
        message(f"tx-{name}") for name in ("first", "aborted", "second", "after")
    )
    with Producer(whole.settings, transactional="e2e") as producer:
        with producer.transaction():
            producer.send(topics.RAW, first, key="tx")
        with suppress(ChangedMindError), producer.transaction():
            producer.send(topics.RAW, aborted, key="tx").result()
            raise ChangedMindError
        with producer.transaction():
            producer.send(topics.RAW, second, key="tx")
    with Producer(whole.settings) as producer:
        producer.send(topics.RAW, after, key="tx")
    found = await_outcomes(whole.settings, [first, second, after])
    assert [json.loads(each.value)["meter"] for each in found] == ["tx-first", "tx-second", "tx-after"]
    assert "tx-aborted" not in {
        json.loads(each.value or b"{}").get("meter") for each in records(whole.settings, topics.READINGS)
    }
