"""Kafka that is away, restarted or overrun, a gateway that is stopped: what callers are told is true, and nothing is lost."""

import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from strom.settings import Settings
from strom.stack.state import status
from strom.stack.supervisor import Stack
from strom.streams.admin import create_topics, new_topic
from tests.ingest.gateway.calling import Caller, calling, gateway_settings, records_in, strom_in
from tests.outages import full_disk
from tests.running import start
from tests.streams.writing import topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack

QUICK = 2  # seconds that Kafka has to confirm


def test_without_kafka_it_comes_up_says_so_and_heals(own_settings: Settings, tmp_path: Path) -> None:
    settings = gateway_settings(own_settings, tmp_path / "gateway", send_seconds=QUICK)
    with calling(settings) as caller:
        assert caller.get("/health").json() == {"status": "degraded", "kafka": "lost"}
        caller.process.await_log(f"Kafka at {own_settings.kafka_bootstrap}")
        place = {"topic": "sma-kafka", "partition": 0, "offset": 0}
        for answer in (
            caller.get("/produce/sma-kafka/v"),
            caller.post("/produce/sma-kafka", [{"value": "v"}]),
            caller.post("/produce", {"value": "v", "topic": "sma-kafka"}),
            caller.post("/webhook?topic=sma-kafka", b"v"),
            caller.post("/fetch", place),
            caller.post("/consume/g/i/sma-kafka"),
            caller.post("/offsets/latest", {"topic": "sma-kafka", "partition": 0}),
            caller.post("/committed/g/i", {"topic": "sma-kafka", "partition": 0}),
            caller.get("/topics"),
        ):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert caller.metric("unavailable_total") == 9
        assert caller.process.log.count("answered 503: Kafka does not answer, and nothing was sent") == 1
        with Stack(own_settings, ["kafka"]):
            until(lambda: caller.get("/health").json()["status"] == "ok")
            assert caller.post("/produce/sma-kafka", {"value": "v"}).status_code == 200


def test_while_the_broker_is_away_the_answer_is_503_and_what_was_answered_200_is_there(
    own_settings: Settings, tmp_path: Path
) -> None:
    with Stack(own_settings, ["kafka"]) as stack:
        topic = topic_of(own_settings, "kept")
        with calling(gateway_settings(own_settings, tmp_path / "gateway", send_seconds=QUICK)) as caller:
            told: dict[str, set[str]] = {"yes": set(), "no": set(), "unknown": set()}
            stop = threading.Event()

            def send(sender: int) -> None:
                number = 0
                while not stop.is_set():
                    number += 1
                    values = [f"{sender}/{number}/{each}" for each in range(3)]
                    answer = caller.post(f"/produce/{topic}", [{"value": each} for each in values])
                    _take_down(told, values, answer)

            with ThreadPoolExecutor(4) as pool:
                senders = [pool.submit(send, number) for number in range(4)]
                try:
                    until(lambda: len(told["yes"]) > 50)
                    pid = stack.kill("kafka")
                    until(lambda: caller.metric("unavailable_total") > 4)
                    stack.await_ready("kafka", other_than=pid)
                    before = len(told["yes"])
                    until(lambda: len(told["yes"]) > before + 50)
                finally:
                    stop.set()
                for each in senders:
                    each.result()
            until(lambda: caller.metric("in_flight") == 0)
            written = [(record.value or b"").decode() for record in records_in(own_settings, topic)]
            assert told["yes"] <= set(written)
            assert len(written) == len(set(written))  # the producer makes no duplicates of its own
            assert not told["no"].intersection(written)
            assert set(written) <= told["yes"] | told["unknown"]


def test_a_full_disk_of_the_broker_is_503_until_there_is_room_and_what_was_answered_200_is_there(
    own_settings: Settings, tmp_path: Path
) -> None:
    with Stack(own_settings, ["kafka"]) as stack:
        topic = topic_of(own_settings, "narrow", partitions=1)
        with calling(gateway_settings(own_settings, tmp_path / "gateway", send_seconds=QUICK)) as caller:
            told: dict[str, set[str]] = {"yes": set(), "no": set(), "unknown": set()}

            def send() -> int:
                value = secrets.token_hex(100_000)
                answer = caller.post(f"/produce/{topic}", {"value": value})
                _take_down(told, [value], answer)
                return answer.status_code

            with full_disk(stack.pid("kafka")):
                until(lambda: send() == 503, "the disk is full")
                caller.process.await_log("answered 503: ")
                assert caller.metric("not_written_total") + caller.metric("unavailable_total") > 0
            stack.await_ready("kafka")
            until(lambda: send() == 200, "there is room again")
            written = [(record.value or b"").decode() for record in records_in(own_settings, topic)]
            assert told["yes"] <= set(written)
            assert not told["no"].intersection(written)
            assert len(written) == len(set(written))


def test_a_broker_that_hangs_is_503_in_time_and_the_loop_goes_on(
    own_settings: Settings, tmp_path: Path
) -> None:
    with Stack(own_settings, ["kafka"]) as stack:
        topic = topic_of(own_settings, "hung")
        with calling(gateway_settings(own_settings, tmp_path / "gateway", send_seconds=QUICK)) as caller:
            assert caller.post(f"/produce/{topic}", {"value": "before"}).status_code == 200
            pid = stack.pid("kafka")
            os.kill(pid, signal.SIGSTOP)
            try:
                answer = caller.post(f"/produce/{topic}", {"value": "meanwhile"})
                assert answer.status_code == 503
                assert answer.json()["messages"][0]["written"] == "unknown"
                until(lambda: caller.get("/health").json()["kafka"] == "lost", "the gateway says so")
            finally:
                os.kill(pid, signal.SIGCONT)
            until(lambda: caller.post(f"/produce/{topic}", {"value": "after"}).status_code == 200)
            written = {record.value for record in records_in(own_settings, topic)}
            assert {b"before", b"after"} <= written <= {b"before", b"meanwhile", b"after"}


def _take_down(told: dict[str, set[str]], values: list[str], answer: httpx.Response) -> None:
    found = answer.json()
    if answer.status_code == 200:
        told["yes"].update(values)
    elif "messages" in found:
        assert answer.status_code == 503, found
        for value, message in zip(values, found["messages"], strict=True):
            told[message["written"]].add(value)
    else:
        assert (answer.status_code, "nothing was sent" in found["error"]) == (503, True), found
        told["no"].update(values)


def test_one_record_that_kafka_refuses_does_not_take_its_neighbours_along(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    future_ms = 99_999_999_999_999
    answer = gateway.post(
        f"/produce/{topic}",
        [
            {"value": "a", "partition": 0},
            {"value": "b", "partition": 0, "timestamp": future_ms},
            {"value": "c", "partition": 0},
        ],
    )
    found = answer.json()
    assert (answer.status_code, found["status"]) == (400, 400)
    assert found["error"].startswith("messages[1] was not written: its timestamp is further from now")
    assert [each["written"] for each in found["messages"]] == ["yes", "no", "yes"]
    assert sorted(record.value or b"" for record in records_in(stack, topic)) == [b"a", b"c"]
    offsets = {record.value: record.offset for record in records_in(stack, topic)}
    assert [each.get("offset") for each in found["messages"]] == [offsets[b"a"], None, offsets[b"c"]]


def test_of_messages_that_are_alike_each_is_told_for_itself_when_kafka_refuses_one(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    topic, large = unique("narrow"), secrets.token_hex(4000)
    create_topics(
        stack,
        [new_topic(topic, partitions=1, replication=1, compacted=False, retention_hours=1, max_bytes=2000)],
    )
    values = ["a", large, "b", "c", large, "d"]
    answer = gateway.post(f"/produce/{topic}", [{"value": value, "key": "same"} for value in values])
    found = answer.json()
    assert (answer.status_code, found["status"]) == (413, 413)
    assert found["error"].startswith("messages[1] was not written: it is larger than the topic takes")
    assert [each["written"] for each in found["messages"]] == ["yes", "no", "yes", "yes", "no", "yes"]
    offsets = {(record.value or b"").decode(): record.offset for record in records_in(stack, topic)}
    assert [each.get("offset") for each in found["messages"]] == [offsets.get(value) for value in values]


def test_a_topic_that_keeps_the_last_of_each_key_refuses_a_record_without_one(gateway: Caller) -> None:
    answer = gateway.post("/produce/meters", [{"value": "v"}])
    assert answer.status_code == 400
    assert "needs a key" in answer.json()["error"]
    assert gateway.get("/produce/meters/v").json()["messages"][0]["written"] == "no"


def test_more_messages_than_may_be_under_way_are_429(stack: Settings, tmp_path: Path, topic: str) -> None:
    with calling(gateway_settings(stack, tmp_path, inflight=10)) as caller:
        answer = caller.post(f"/produce/{topic}", [{"value": "v"}] * 11)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert caller.post(f"/produce/{topic}", [{"value": "v"}] * 10).status_code == 200
        assert caller.metric("overloaded_total") == 1
        assert (
            "answered 429: More than 10 messages (gateway.inflight) would be under way" in caller.process.log
        )
    assert len(records_in(stack, topic)) == 10


def test_more_bytes_than_may_be_held_are_429_until_there_is_room(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with calling(gateway_settings(stack, tmp_path, max_body=2000, inflight_bytes=3000)) as caller:
        host = caller.client.base_url
        with socket.create_connection((host.host, host.port or 0)) as slow:
            head = f"POST /produce/{topic} HTTP/1.1\r\nHost: x\r\nContent-Length: 1900\r\n"
            slow.sendall(f"{head}Authorization: {caller.client.headers['authorization']}\r\n\r\n[".encode())
            until(lambda: caller.metric("held_bytes") == 1900)
            large = {"value": "x" * 1500}
            answer = caller.post(f"/produce/{topic}", large)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert caller.post(f"/produce/{topic}", {"value": "small"}).status_code == 200
        until(lambda: caller.metric("held_bytes") == 0)  # the slow one has hung up
        assert caller.post(f"/produce/{topic}", large).status_code == 200


@pytest.mark.parametrize("begun", ["", "["])
def test_a_body_that_does_not_come_is_408_and_its_bytes_are_let_go(
    stack: Settings, tmp_path: Path, topic: str, begun: str
) -> None:
    with calling(gateway_settings(stack, tmp_path, body_seconds=1)) as caller:
        host = caller.client.base_url
        with socket.create_connection((host.host, host.port or 0), timeout=60) as silent:
            head = f"POST /produce/{topic} HTTP/1.1\r\nHost: x\r\nContent-Length: 1900\r\n"
            credentials = caller.client.headers["authorization"]
            silent.sendall(f"{head}Authorization: {credentials}\r\n\r\n{begun}".encode())
            with silent.makefile("rb") as answer:
                assert answer.readline().startswith(b"HTTP/1.1 408 ")
        until(lambda: caller.metric("held_bytes") == 0)
        assert "answered 408: The body did not come in time" in caller.process.log


def test_bodies_that_do_not_say_how_large_they_are_leave_room_for_each_other(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    settings = gateway_settings(stack, tmp_path, max_body=2000, inflight_bytes=3000)
    with calling(settings) as caller, ThreadPoolExecutor(8) as pool:
        bodies = (iter([b'{"value"', b':"v"}']) for _ in range(40))
        answers = pool.map(
            lambda body: caller.client.post(f"/produce/{topic}", content=body).status_code, bodies
        )
        assert {*answers} == {200}
    assert len(records_in(stack, topic)) == 40


def test_a_gateway_that_is_stopped_finishes_what_is_under_way(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    settings = gateway_settings(stack, tmp_path)
    with calling(settings) as caller:
        answered: list[str] = []

        def send(number: int) -> None:
            value = str(number)
            try:
                if caller.post(f"/produce/{topic}", {"value": value}).status_code == 200:
                    answered.append(value)
            except httpx.HTTPError:
                return

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(50)))
            rest = [pool.submit(send, number) for number in range(50, 200)]
            assert caller.process.stop() == 0
            for each in rest:
                each.result()
        assert len(answered) >= 50
        written = {(record.value or b"").decode() for record in records_in(stack, topic)}
        assert set(answered) <= written
        assert "Traceback" not in caller.process.log


def test_a_port_in_use_is_one_sentence_and_exit_code_2(stack: Settings, tmp_path: Path) -> None:
    settings = gateway_settings(stack, tmp_path)
    with socket.create_server(("127.0.0.1", settings.gateway.port)):
        process = start(settings, "gateway", "gateway")
        assert process.process.wait(60) == 2
    assert (
        f"Port {settings.gateway.port} on 127.0.0.1 is in use; choose another one with --port" in process.log
    )
    assert "Traceback" not in process.log


def test_up_runs_the_gateway_status_shows_it_and_it_takes_new_users_without_a_restart(
    own_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = ("anna", "secret-of-anna")
    with Stack(own_settings, ["kafka", "gateway"]) as stack:
        shown = status(own_settings)["gateway"]
        assert shown["state"] == "running"
        assert shown["address"] == f"http://127.0.0.1:{own_settings.gateway.port}"
        with httpx.Client(base_url=shown["address"], timeout=60) as client:
            answer = client.get("/topics", auth=secret)
            assert (answer.status_code, "strom users add NAME" in answer.json()["error"]) == (401, True)
            added = strom_in(tmp_path, "users", "add", "anna", "--password-stdin", given=secret[1])
            assert "need not be restarted" in added.stdout, added.stderr
            until(lambda: client.get("/topics", auth=secret).status_code == 200)
            pid = stack.kill("gateway")
            stack.await_ready("gateway", other_than=pid)
            assert client.get("/topics", auth=secret).status_code == 200
            strom_in(tmp_path, "users", "remove", "anna")
            until(lambda: client.get("/topics", auth=secret).status_code == 401)
