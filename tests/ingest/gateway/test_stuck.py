"""Calls of Kafka's client that never come back: the gateway answers, goes on and ends all the same."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from strom.ingest.gateway.run import stop_seconds
from strom.settings import GatewaySettings, Settings
from strom.stack.own import Gateway
from strom.stack.supervisor import Stack
from tests.ingest.gateway.calling import Caller, calling, gateway_settings
from tests.streams.writing import topic_of, write
from tests.waiting import until

pytestmark = pytest.mark.stack

EARLIEST = {"Kafka-Auto-Offset-Reset": "earliest"}
LARGEST = 2**63 - 2


def instances(caller: Caller) -> list[str]:
    return [each["name"] for group in caller.get("/consumers").json() for each in group["instances"]]


def read_by_group(caller: Caller, group: str, topic: str) -> None:
    """An instance `one` that has been read from."""
    until(lambda: caller.post(f"/consume/{group}/one/{topic}", headers=EARLIEST).json())


@pytest.mark.parametrize("offset", [17, LARGEST])
def test_a_fetch_behind_the_end_is_400_each_time_and_disturbs_no_other(
    gateway: Caller, topic: str, stack: Settings, offset: int
) -> None:
    """Kafka may say no when the consumer already reads for the next caller."""
    write(stack, topic, b"a")
    wrong = {"topic": topic, "partition": 0, "offset": offset}

    def ask(number: int) -> None:
        impatient = gateway.post("/fetch", wrong | {"timeout": number % 20})
        assert impatient.status_code in (200, 400), impatient.text
        right = gateway.post("/fetch", {"topic": topic, "partition": 0, "offset": 0, "timeout": 60_000})
        assert (right.status_code, len(right.json())) == (200, 1), right.text

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(200)))
    answer = gateway.post("/fetch", wrong | {"timeout": 60_000})
    assert (answer.status_code, answer.json()["error"][:34]) == (400, "There is no record at that place (")


def test_a_gateway_that_was_asked_for_many_offsets_behind_the_end_can_be_stopped(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    write(stack, topic, b"a")
    with calling(gateway_settings(stack, tmp_path)) as caller:

        def ask(number: int) -> int:
            place = {"topic": topic, "partition": 0, "offset": LARGEST if number % 3 else 0}
            return caller.post("/fetch", place | {"timeout": number % 7 * 3}).status_code

        with ThreadPoolExecutor(6) as pool:
            assert {*pool.map(ask, range(6000))} == {200, 400}
        assert caller.process.stop() == 0
        assert "Traceback" not in caller.process.log


def test_a_consumer_that_does_not_close_is_given_up_and_the_gateway_ends_without_it(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    write(stack, topic, b"a")
    group = unique("group")
    with calling(gateway_settings(stack, tmp_path), broken="close") as caller:
        (tmp_path / "close").touch()
        read_by_group(caller, group, topic)
        answer = caller.post(f"/delete-consumer/{group}/one")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert "has not closed within 2 s and is given up" in answer.json()["error"]
        assert caller.metric("consumers_given_up_total") == 1
        assert caller.metric("consumers") == 0
        assert instances(caller) == []
        caller.process.await_log(
            f"the consumer {group}/one of anna has not closed within 2 s and is given up"
        )
        read_by_group(caller, unique("group"), topic)  # others are open when the gateway stops
        place = {"topic": topic, "partition": 0, "offset": 0}
        assert until(lambda: caller.post("/fetch", place).json())[0]["value"] == "a"
        assert caller.process.stop() == 0
        assert caller.process.log.count(" and is given up\n") == 3


def test_the_list_of_consumers_does_not_wait_for_one_that_is_closing(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    write(stack, topic, b"a")
    group = unique("group")
    settings = gateway_settings(stack, tmp_path)
    with calling(settings, broken="close") as caller, ThreadPoolExecutor(1) as pool:
        (tmp_path / "close").touch()
        read_by_group(caller, group, topic)
        deleting = pool.submit(caller.as_user("anna").post, f"/delete-consumer/{group}/one")
        until(lambda: instances(caller) == [])
        assert deleting.result().status_code == 503


def test_a_read_that_does_not_come_back_is_503_and_the_gateway_goes_on(
    stack: Settings, tmp_path: Path, topic: str, unique: Callable[[str], str]
) -> None:
    write(stack, topic, b"a")
    group, place = unique("group"), {"topic": topic, "partition": 0, "offset": 0}
    with calling(gateway_settings(stack, tmp_path), broken="poll") as caller:
        read_by_group(caller, group, topic)
        (tmp_path / "poll").touch()
        for path, body in ((f"/consume/{group}/one/{topic}", {"timeout": 0}), ("/fetch", place)):
            answer = caller.post(path, body)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert "Kafka's client has not finished a " in answer.json()["error"]
        caller.process.await_log(
            f"the consumer {group}/one of anna has not closed within 2 s and is given up"
        )
        until(
            lambda: caller.metric("calls_given_up") == 3
        )  # the two reads, and closing the first one's consumer
        assert caller.get("/health").json() == {"status": "ok", "kafka": "connected", "calls_given_up": 3}
        (tmp_path / "poll").unlink()
        assert until(lambda: caller.post("/fetch", place).json())[0]["value"] == "a"
        read_by_group(caller, unique("group"), topic)
        assert caller.process.stop() == 0


def test_a_fetch_and_a_commit_while_kafka_hangs_are_503_and_the_gateway_stops(
    own_settings: Settings, tmp_path: Path
) -> None:
    with Stack(own_settings, ["kafka"]) as stack:
        topic = topic_of(own_settings, "hung")
        write(own_settings, topic, b"a")
        with calling(gateway_settings(own_settings, tmp_path / "gateway")) as caller:
            read_by_group(caller, "group", topic)
            os.kill(pid := stack.pid("kafka"), signal.SIGSTOP)
            try:
                for path, body in (
                    ("/fetch", {"topic": topic, "partition": 0, "offset": 0}),
                    ("/commit/group/one", None),
                ):
                    answer = caller.post(path, body)
                    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), answer.text
                assert caller.process.stop() == 0
            finally:
                os.kill(pid, signal.SIGCONT)


def test_a_gateway_that_cannot_stop_is_ended_by_force_and_shows_where_it_hangs(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with calling(gateway_settings(stack, tmp_path, send_seconds=1), broken="stop") as caller:
        assert caller.post(f"/produce/{topic}", {"value": "v"}).status_code == 200
        (tmp_path / "stop").touch()
        assert caller.process.stop() == 1
        assert "stopping; what has not ended after 3 s is ended by force" in caller.process.log
        assert "Timeout (0:00:03)!" in caller.process.log
        assert "broken.py" in caller.process.log


@pytest.mark.parametrize("send_seconds", [1, 5, 300])
def test_the_supervisor_waits_until_the_gateway_has_ended_itself(send_seconds: float) -> None:
    settings = Settings(gateway=GatewaySettings(send_seconds=send_seconds))
    assert stop_seconds(settings) < Gateway(settings).stop_seconds
