"""Reading back: at a place, by a group, and where partitions begin and end."""

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from strom.ingest.gateway.instance import Choices, Instance
from strom.settings import Settings
from tests.ingest.gateway.calling import PASSWORD, Caller, basic, calling, gateway_settings
from tests.streams.writing import topic_of, write
from tests.waiting import until

pytestmark = pytest.mark.stack

EARLIEST = {"Kafka-Auto-Offset-Reset": "earliest"}
AT_MS = time.time_ns() // 1_000_000 - 60_000  # not so long ago that the broker may delete it
BY_HAND = EARLIEST | {"Kafka-Enable-Auto-Commit": "false"}


def values(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [record["value"] for record in answer.json()]


def consumed(caller: Caller, path: str, headers: dict[str, str] | None = None) -> list[str]:
    """Asked until something comes: to join a group takes a moment."""
    return until(lambda: values(caller.post(path, headers=headers)))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_records_are_fetched_at_their_place(
    gateway: Caller, stack: Settings, topic: str, method: str
) -> None:
    write(stack, topic, b"a", b"\xff", at_ms=AT_MS)
    write(stack, topic, b"c", partition=1, at_ms=AT_MS)
    answer = gateway.post("/fetch", {"topic": topic, "partition": 0, "offset": 1}, method=method)
    header = {"key": "strom-source", "value": "test"}
    assert answer.json() == [
        {
            "topic": topic,
            "partition": 0,
            "offset": 1,
            "timestamp": AT_MS + 1,
            "key": "k1",
            "value": "\ufffd",  # no UTF-8
            "headers": [header],
        }
    ]
    places = [{"topic": topic, "partition": number, "offset": 0} for number in (0, 1)]
    both: set[str] = set()

    def all_came() -> bool:
        both.update(values(gateway.post("/fetch", {"topicPartitionOffsets": places}, method=method)))
        return len(both) == 3

    until(all_came)
    assert both == {"a", "\ufffd", "c"}


def test_a_fetch_waits_for_records_and_gives_none_when_there_are_none(gateway: Caller, topic: str) -> None:
    assert values(gateway.post("/fetch", {"topic": topic, "partition": 0, "offset": 0, "timeout": 0})) == []
    assert values(gateway.post("/fetch", {"topic": topic, "partition": 0, "offset": 0, "timeout": 300})) == []


def test_an_answer_holds_no_more_than_it_may(stack: Settings, tmp_path: Path, topic: str) -> None:
    write(stack, topic, *(b"%d" % number for number in range(10)))
    with calling(gateway_settings(stack, tmp_path, read_records=3)) as caller:
        place = {"topic": topic, "partition": 0, "offset": 4}
        found = until(lambda: values(caller.post("/fetch", place)))
        assert found == [str(number) for number in range(4, 4 + len(found))]
        assert len(found) <= 3


def test_a_place_that_is_not_there_is_400(gateway: Caller, stack: Settings, topic: str) -> None:
    write(stack, topic, b"a")
    answer = gateway.post("/fetch", {"topic": topic, "partition": 0, "offset": 17})
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        f"There is no record at that place ({topic}/0 can be fetched from 0 to 1); /offsets tells which there are.",
    )
    answer = gateway.post(
        "/fetch", {"topicPartitionOffsets": [{"topic": topic, "partition": 9, "offset": 0}]}
    )
    assert (answer.status_code, answer.json()["error"][:56]) == (
        400,
        "topicPartitionOffsets[0]: partition 9 is not there: team",
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_offsets_of_the_ends_and_of_a_time(gateway: Caller, stack: Settings, topic: str, method: str) -> None:
    write(stack, topic, b"a", b"b", b"c", at_ms=AT_MS)
    place = {"topic": topic, "partition": 0}
    moments = ("earliest", "latest", str(AT_MS + 1), str(AT_MS + 9), "0")
    found = [
        gateway.post(f"/offsets/{moment}", place, method=method).json()[0]["offset"] for moment in moments
    ]
    assert found == [0, 3, 1, 3, 0]
    several = gateway.post("/offsets/latest", {"topicPartitions": [place | {"partition": 1}, place]})
    assert [(each["partition"], each["offset"]) for each in several.json()] == [(1, 0), (0, 3)]
    for moment in ("yesterday", "-1", "1.5", "9" * 25):
        assert gateway.post(f"/offsets/{moment}", place).status_code == 400


def test_a_group_reads_on_where_it_was(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    path = f"/consume/{group}/one/{topic}"
    write(stack, topic, b"a", b"b")
    assert consumed(gateway, path, EARLIEST) == ["a", "b"]
    write(stack, topic, b"c")
    assert consumed(gateway, path) == ["c"]
    (listed,) = [each for each in gateway.get("/consumers").json() if each["name"] == group]
    assert listed["instances"] == [{"name": "one", "topics": [{"topic": topic, "partitions": [0, 1]}]}]
    assert gateway.as_user("carl").get("/consumers").json() == []
    assert gateway.client.delete(f"/delete-consumer/{group}/one").json() == {
        "result": "Success",
        "status": 200,
    }
    assert gateway.post(f"/delete-consumer/{group}/one").status_code == 404
    committed = gateway.post(f"/committed/{group}/one", {"topic": topic, "partition": 0}).json()
    assert committed == [{"topic": topic, "partition": 0, "offset": 3}]
    write(stack, topic, b"d")
    assert consumed(gateway, f"/consume/{group}/two/{topic}", EARLIEST) == ["d"]
    gateway.post(f"/delete-consumer/{group}/two")


def test_what_is_not_committed_comes_again(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    write(stack, topic, b"a", b"b", b"c")
    assert consumed(gateway, f"/consume/{group}/one/{topic}", BY_HAND) == ["a", "b", "c"]
    place = {"topic": topic, "partition": 0}
    assert gateway.post(f"/committed/{group}/one", place).json()[0]["offset"] is None
    assert gateway.post(f"/commit/{group}/one", place | {"offset": 1}).status_code == 200
    gateway.post(f"/delete-consumer/{group}/one")
    assert consumed(gateway, f"/consume/{group}/one/{topic}", BY_HAND) == ["b", "c"]
    assert gateway.get(f"/commit/{group}/one").json() == {"result": "Success", "status": 200}
    offsets = {each["partition"]: each["offset"] for each in gateway.get(f"/committed/{group}/one").json()}
    assert offsets == {0: 3, 1: None}
    assert gateway.post(f"/commit/{group}/one").status_code == 200  # nothing new is no mistake
    gateway.post(f"/delete-consumer/{group}/one")


def test_two_consumers_of_a_group_share_the_partitions(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    paths = [f"/consume/{group}/{name}/{topic}" for name in ("one", "two")]

    def shared() -> bool:
        for path in paths:
            gateway.post(path, {"timeout": 50}, headers=EARLIEST)
        (listed,) = [each for each in gateway.get("/consumers").json() if each["name"] == group]
        taken = [each["topics"][0]["partitions"] for each in listed["instances"]]
        return sorted(taken) == [[0], [1]]

    until(shared)
    write(stack, topic, b"a")
    write(stack, topic, b"b", partition=1)
    found: list[str] = []

    def all_came() -> bool:
        for path in paths:
            found.extend(values(gateway.post(path, {"timeout": 200})))
        return len(found) == 2

    until(all_came)
    assert sorted(found) == ["a", "b"]
    for name in ("one", "two"):
        gateway.post(f"/delete-consumer/{group}/{name}")


def test_an_instance_may_turn_to_another_topic(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    other, group = topic_of(stack, unique("team")), unique("group")
    write(stack, topic, b"a")
    write(stack, other, b"b")
    assert consumed(gateway, f"/consume/{group}/one/{topic}", EARLIEST) == ["a"]
    assert consumed(gateway, f"/consume/{group}/one/{other}") == ["b"]
    write(stack, topic, b"c")
    assert consumed(gateway, f"/consume/{group}/one/{topic}") == ["c"]
    gateway.post(f"/delete-consumer/{group}/one")


def test_what_a_group_may_not_be_or_say_is_refused(
    gateway: Caller, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    path = f"/consume/{group}/one/{topic}"
    assert gateway.post(path, headers={"Kafka-Auto-Offset-Reset": "soon"}).status_code == 400
    assert gateway.post(path, headers={"Kafka-Enable-Auto-Commit": "maybe"}).status_code == 400
    assert gateway.post(path, {"timeout": "1"}).status_code == 400
    assert gateway.post(f"/consume/a%20b/one/{topic}").status_code == 400
    assert gateway.post(f"/consume/strom-alerts/one/{topic}").status_code == 403
    assert gateway.post(f"/commit/{group}/nobody").status_code == 404
    assert gateway.get(f"/committed/{group}/nobody").status_code == 404
    assert gateway.post(path, {"timeout": 0}, headers=EARLIEST).status_code == 200
    assert (
        gateway.post(path, {"timeout": 0}, headers={"Kafka-Auto-Offset-Reset": "latest"}).status_code == 400
    )
    assert gateway.post(path, {"timeout": 0}, headers=BY_HAND).status_code == 400
    gateway.post(f"/delete-consumer/{group}/one")


def test_without_a_place_to_begin_the_answer_says_so(
    gateway: Caller, topic: str, unique: Callable[[str], str]
) -> None:
    path = f"/consume/{unique('group')}/one/{topic}"
    ask = partial(gateway.post, path, headers={"Kafka-Auto-Offset-Reset": "none"})

    def refusal() -> dict[str, object] | None:
        answer = ask()
        return answer.json() if answer.status_code == 400 else None

    found = until(refusal)
    assert found["status"] == 400
    assert str(found["error"]).startswith("There is no record at that place")


def test_there_are_no_more_consumers_than_there_may_be_and_idle_ones_go(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    write(stack, topic, b"a")
    with calling(gateway_settings(stack, tmp_path, consumers=1, consumer_idle_seconds=2)) as caller:
        assert consumed(caller, f"/consume/{group}/one/{topic}", EARLIEST) == ["a"]
        answer = caller.post(f"/consume/{group}/two/{topic}")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        until(lambda: caller.metric("consumers") == 0)
        committed = caller.post(f"/committed/{group}/one", {"topic": topic, "partition": 0})
        assert committed.json()[0]["offset"] == 1
        assert caller.post(f"/consume/{group}/two/{topic}", {"timeout": 0}).status_code == 200


def test_consumers_can_be_listed_while_others_are_closed(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("group")
    one, other = (Instance(stack, group, Choices()) for _ in range(2))
    assert (one.partitions(), other.partitions()) == ([], [])
    one.close()
    assert (one.partitions(), other.partitions()) == (None, [])
    other.close()
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            assert gateway.post(f"/consume/{group}/one/{topic}", {"timeout": 0}).status_code == 200
            assert gateway.post(f"/delete-consumer/{group}/one").status_code == 200

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(come_and_go)
        try:
            for _ in range(50):
                answer = gateway.get("/consumers")
                assert answer.status_code == 200, answer.text
        finally:
            stop.set()
        coming.result()


def test_one_request_at_a_time_uses_a_consumer(
    gateway: Caller, topic: str, unique: Callable[[str], str]
) -> None:
    path = f"/consume/{unique('group')}/one/{topic}"
    until(lambda: _waiting(gateway, path)).close()
    assert until(lambda: gateway.post(path, {"timeout": 0}).status_code == 200, "the consumer is free again")


def test_what_a_caller_that_hung_up_did_not_get_comes_again(
    gateway: Caller, stack: Settings, topic: str, unique: Callable[[str], str]
) -> None:
    path = f"/consume/{unique('group')}/one/{topic}"
    gateway.post(path, {"timeout": 0}, headers=EARLIEST)
    for number in range(5):
        until(lambda: _waiting(gateway, path)).close()
        write(stack, topic, b"%d" % number)
        assert _next_of(gateway, path) == [str(number)]


def _next_of(gateway: Caller, path: str) -> list[str]:
    def ask() -> list[str]:
        answer = gateway.post(path, {"timeout": 100})
        return [] if answer.status_code == 429 else values(answer)

    return until(ask)


def test_a_restart_of_the_gateway_keeps_what_a_group_has_committed(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    settings, path = gateway_settings(stack, tmp_path), f"/consume/{unique('group')}/one/{topic}"
    write(stack, topic, b"a", b"b")
    with calling(settings) as caller:
        assert consumed(caller, path, EARLIEST) == ["a", "b"]
        assert caller.process.stop() == 0
    write(stack, topic, b"c")
    with calling(settings) as caller:
        assert consumed(caller, path, EARLIEST) == ["c"]


def _waiting(gateway: Caller, path: str) -> socket.socket | None:
    """The connection of a request that waits for records, or None if it happened to come while another was answered."""
    line = _sent(gateway, path, {"timeout": 60_000})
    if gateway.post(path, {"timeout": 0}).status_code == 429:
        return line
    line.close()
    return None


def _sent(gateway: Caller, path: str, body: Any) -> socket.socket:
    """A request whose answer nobody has read yet."""
    text = json.dumps(body)
    host = gateway.client.base_url
    line = socket.create_connection((host.host, host.port or 0))
    line.sendall(
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {basic('anna', PASSWORD).decode()}\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}".encode()
    )
    return line
