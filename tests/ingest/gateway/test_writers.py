"""The processes that write large bodies for the gateway: their answers are its own, and so is what becomes of them."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from strom.ingest.gateway.bodies import LARGEST
from strom.ingest.gateway.writers import LARGE_BODY
from strom.settings import Settings
from tests.ingest.gateway.calling import Caller, calling, gateway_settings, records_in
from tests.waiting import until

pytestmark = pytest.mark.stack

FILLER = "x" * 1000


def large(prefix: str, count: int = 200) -> list[dict[str, Any]]:
    found = [{"value": f"{prefix}{number} ä {FILLER}", "key": f"k{number % 7}"} for number in range(count)]
    assert len(json.dumps(found)) > LARGE_BODY
    return found


def writers_of(caller: Caller) -> list[int]:
    pid = caller.process.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def await_writers(caller: Caller, topic: str, count: int) -> None:
    """The first large body starts them, and is written all the same."""
    assert caller.post(f"/produce/{topic}", large("first ")).status_code == 200
    until(lambda: caller.metric("writers") == count)


@pytest.fixture
def caller(stack: Settings, tmp_path: Path, topic: str) -> Iterator[Caller]:
    with calling(gateway_settings(stack, tmp_path, writers=1, send_seconds=30)) as found:
        await_writers(found, topic, 1)
        yield found


def test_each_message_is_answered_by_its_place_and_counted_once(
    caller: Caller, stack: Settings, topic: str
) -> None:
    before = caller.metric("written_total")
    sent = [large(f"{number}/") for number in range(20)]  # more than there are slots
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda each: caller.post(f"/produce/{topic}", each), sent))
    found = {(record.partition, record.offset): record for record in records_in(stack, topic)}
    for messages, answer in zip(sent, answers, strict=True):
        assert answer.status_code == 200
        for message, place in zip(messages, answer.json(), strict=True):
            record = found[place["partition"], place["offset"]]
            assert (record.value, record.key) == (message["value"].encode(), message["key"].encode())
            assert record.at_ms == place["timestamp"]
    assert caller.metric("written_total") - before == 20 * 200


def test_what_is_wrong_is_said_as_by_the_gateway_itself_and_nothing_is_written(
    caller: Caller, stack: Settings, topic: str
) -> None:
    before = len(records_in(stack, topic))
    wrong = [
        ([*large("a"), {"value": 5}], 400, "messages[200]: value is 5, but must be a string."),
        ([*large("b"), {"value": "v", "partition": 9}], 400, "messages[200]: partition 9 is not there"),
        ([*large("c"), {"value": "x" * (LARGEST + 1)}], 413, "messages[200]: the message has "),
    ]
    for body, status, sentence in wrong:
        answer = caller.post(f"/produce/{topic}", body)
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert answer.json()["error"].startswith(sentence)
    assert caller.post(f"/produce/{topic}", b"[" * LARGE_BODY).status_code == 400
    assert len(records_in(stack, topic)) == before
    assert caller.metric("refused_total") == 4


def test_a_body_that_does_not_come_leaves_its_place_to_others(caller: Caller, topic: str) -> None:
    host = caller.client.base_url
    for _ in range(10):  # more than there are slots
        with socket.create_connection((host.host, host.port or 0)) as half:
            head = f"POST /produce/{topic} HTTP/1.1\r\nHost: x\r\nContent-Length: {2 * LARGE_BODY}\r\n"
            half.sendall(f"{head}Authorization: {caller.client.headers['authorization']}\r\n\r\n[".encode())
            until(lambda: caller.metric("held_bytes") == 2 * LARGE_BODY)
        until(lambda: caller.metric("held_bytes") == 0)
    assert caller.post(f"/produce/{topic}", large("after ")).status_code == 200


def test_a_body_that_does_not_say_how_large_it_is_is_refused_as_soon_as_it_is_too_large(
    caller: Caller, topic: str
) -> None:
    parts = (b"[" + b" " * 100_000 for _ in range(100))
    answer = caller.client.post(f"/produce/{topic}", content=parts)
    assert (answer.status_code, "gateway.max_body" in answer.json()["error"]) == (413, True)


def test_one_that_is_killed_while_a_body_comes_is_not_missed(
    caller: Caller, stack: Settings, topic: str
) -> None:
    body = json.dumps(large("late ")).encode()
    host = caller.client.base_url
    with socket.create_connection((host.host, host.port or 0)) as line:
        head = f"POST /produce/{topic} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        line.sendall(f"{head}Authorization: {caller.client.headers['authorization']}\r\n\r\n".encode())
        line.sendall(body[:1000])
        until(lambda: caller.metric("held_bytes") == len(body))
        os.kill(writers_of(caller)[0], signal.SIGKILL)
        until(lambda: caller.metric("writers") == 0)
        line.sendall(body[1000:])
        with line.makefile("rb") as answer:
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
            answer.read()
    assert sum((record.value or b"").startswith(b"late ") for record in records_in(stack, topic)) == 200


def test_one_that_is_killed_takes_nothing_along_that_is_not_told_and_is_replaced(
    caller: Caller, stack: Settings, topic: str
) -> None:
    (victim,) = writers_of(caller)
    os.kill(victim, signal.SIGSTOP)  # so that it holds what it gets
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(caller.post, f"/produce/{topic}", large("lost "))
        until(lambda: caller.as_nobody().metric("held_bytes") > LARGE_BODY)
        os.kill(victim, signal.SIGKILL)
        answer = sent.result()
    assert answer.status_code == 503
    assert "the process that was writing it has ended" in answer.json()["error"]
    assert [each["written"] for each in answer.json()["messages"]] == ["unknown"] * 200
    assert caller.metric("not_written_total") == 200

    def written_by_another() -> bool:
        assert caller.post(f"/produce/{topic}", large("again ")).status_code == 200
        return caller.metric("writers") == 1 and writers_of(caller) != [victim]

    until(written_by_another)


def test_they_end_with_a_gateway_that_is_killed(caller: Caller) -> None:
    (writer,) = writers_of(caller)
    caller.process.kill()
    until(lambda: not Path(f"/proc/{writer}").exists())
    assert caller.process.process.returncode == -signal.SIGKILL


def test_without_them_the_gateway_writes_itself(stack: Settings, tmp_path: Path, topic: str) -> None:
    with calling(gateway_settings(stack, tmp_path, writers=0)) as found:
        assert found.post(f"/produce/{topic}", large("alone ")).status_code == 200
        assert (writers_of(found), found.metric("writers"), found.metric("written_total")) == ([], 0, 200)
