"""Every status code by which a request is refused, and that nothing is written then."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strom.settings import Settings
from strom.streams.admin import admin_client, create_topics, new_topic, topic_names
from strom.streams.offsets import all_topics
from tests.ingest.gateway.calling import Caller, calling, gateway_settings, records_in
from tests.waiting import until

pytestmark = pytest.mark.stack


def problem(answer: Any) -> tuple[int, str]:
    found = answer.json()
    assert found["status"] == answer.status_code
    return answer.status_code, found["error"]


def test_an_array_is_checked_whole_before_anything_is_sent(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    good = [{"value": str(number)} for number in range(999)]
    assert problem(gateway.post(f"/produce/{topic}", [*good, {"value": 5}])) == (
        400,
        "messages[999]: value is 5, but must be a string.",
    )
    assert problem(gateway.post(f"/produce/{topic}", [*good, {"value": "v", "partition": 2}])) == (
        400,
        f"messages[999]: partition 2 is not there: {topic} has 2, counted from 0.",
    )
    for_topic = [each | {"topic": topic} for each in good]
    status, sentence = problem(gateway.post("/produce", [*for_topic, {"value": "v", "topic": "not-there"}]))
    assert (status, sentence[:47]) == (404, "messages[999]: There is no topic not-there; `st")
    status, sentence = problem(
        gateway.as_user("tim").post("/produce", [*for_topic, {"value": "v", "topic": "sma-kafka"}])
    )
    assert (status, sentence[:49]) == (403, "messages[999]: tim may not use the topic sma-kafk")
    assert records_in(stack, topic) == []


def test_an_unknown_topic_is_404_and_is_not_made(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    name = unique("typo")
    answers = [
        gateway.get(f"/produce/{name}/v"),
        gateway.post(f"/produce/{name}", {"value": "v"}),
        gateway.post("/produce", {"value": "v", "topic": name}),
        gateway.post(f"/webhook?topic={name}", b"v"),
        gateway.post("/fetch", {"topic": name, "partition": 0, "offset": 0}),
        gateway.post(f"/consume/g/i/{name}"),
        gateway.post("/offsets/latest", {"topic": name, "partition": 0}),
        gateway.post("/committed/g/i", {"topic": name, "partition": 0}),
        gateway.get("/produce/no%00topic/v"),
        gateway.get(f"/produce/{'x' * 300}/v"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert name not in topic_names(stack)


def test_a_topic_made_just_now_is_found(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    name = unique("fresh")
    assert gateway.post(f"/produce/{name}", {"value": "v"}).status_code == 404
    topic = new_topic(name, partitions=1, replication=1, compacted=False, retention_hours=1)
    create_topics(stack, [topic])
    until(lambda: name in all_topics(stack, admin_client(stack)))
    assert gateway.post(f"/produce/{name}", {"value": "v"}).status_code == 200


def test_no_credentials_and_wrong_ones_are_401_with_a_challenge(gateway: Caller, topic: str) -> None:
    for caller in (gateway.as_user("anna", "wrong"), gateway.as_user("nobody")):
        answer = caller.post(f"/produce/{topic}", {"value": "v"})
        assert problem(answer) == (401, "The user name or the password is wrong.")
        assert answer.headers["www-authenticate"].startswith("Basic ")
    nobody = gateway.as_nobody()
    for path in ("/produce", f"/produce/{topic}", f"/produce/{topic}/v", "/topics", "/consumers", "/fetch"):
        assert nobody.get(path).status_code == 401


def test_whoever_may_only_write_cannot_read_and_the_other_way_round(gateway: Caller, topic: str) -> None:
    pia, carl = gateway.as_user("pia"), gateway.as_user("carl")
    message, place = {"value": "v"}, {"topic": topic, "partition": 0, "offset": 0}
    assert pia.post(f"/produce/{topic}", message).status_code == 200
    assert carl.post("/fetch", place | {"timeout": 0}).status_code == 200
    assert carl.get(f"/produce/{topic}/v").status_code == 403
    assert carl.post(f"/webhook?topic={topic}", b"v").status_code == 403
    status, sentence = problem(carl.post("/produce", message | {"topic": topic}))
    assert (status, sentence[:64]) == (
        403,
        "carl may not produce: the user's rights are consume (`strom user",
    )
    for path in (
        "/fetch",
        f"/consume/g/i/{topic}",
        "/commit/g/i",
        "/committed/g/i",
        "/offsets/latest",
        "/consumers",
    ):
        assert pia.get(path).status_code == 403, path
    assert pia.post("/delete-consumer/g/i").status_code == 403
    assert topic in pia.get("/topics").json()


def test_a_user_sees_only_the_topics_of_the_settings(gateway: Caller, topic: str) -> None:
    tim = gateway.as_user("tim")
    assert tim.post(f"/produce/{topic}", {"value": "v"}).status_code == 200
    place = {"topic": "sma-kafka", "partition": 0, "offset": 0}
    for answer in (
        tim.post("/produce/sma-kafka", {"value": "v"}),
        tim.post("/produce/not-there", {"value": "v"}),
        tim.post("/webhook?topic=sma-kafka", b"v"),
        tim.post("/fetch", place),
        tim.post("/consume/g/i/sma-kafka"),
        tim.post("/offsets/earliest", [{"topic": "sma-kafka", "partition": 0}]),
        tim.post("/committed/g/i", {"topic": "sma-kafka", "partition": 0}),
        tim.post("/commit/g/i", place),
        gateway.post("/produce/__consumer_offsets", {"value": "v"}),
        gateway.post("/fetch", place | {"topic": "__consumer_offsets"}),
    ):
        assert answer.status_code == 403
    assert all(name.startswith("team-") for name in tim.get("/topics").json())
    assert "sma-kafka" in gateway.get("/topics").json()
    assert not [name for name in gateway.get("/topics").json() if name.startswith("__")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_another_content_type_is_415(gateway: Caller, topic: str, headers: dict[str, str]) -> None:
    for path in (f"/produce/{topic}", "/produce", "/fetch", "/offsets/latest"):
        assert gateway.post(path, b'{"value":"v"}', headers=headers).status_code == 415


def test_a_body_that_is_too_large_is_413_however_it_comes(
    stack: Settings, tmp_path: Path, topic: str
) -> None:
    with calling(gateway_settings(stack, tmp_path, max_body=2000)) as caller:
        large = json.dumps({"value": "x" * 2000}).encode()
        pieces = (large[at : at + 100] for at in range(0, len(large), 100))
        for content in (large, pieces):
            answer = caller.client.post(f"/produce/{topic}", content=content)
            assert problem(answer)[0] == 413
        assert caller.client.post(f"/webhook?topic={topic}", content=large).status_code == 413
        assert caller.post(f"/produce/{topic}", {"value": "x" * 1900}).status_code == 200
    assert len(records_in(stack, topic)) == 1


def test_a_message_that_is_too_large_is_413_by_its_index(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    status, sentence = problem(
        gateway.post(f"/produce/{topic}", [{"value": "v"}, {"value": "x" * 3_000_000}])
    )
    assert (status, sentence[:41]) == (413, "messages[1]: the message has 3,000,000 by")
    assert problem(gateway.post(f"/webhook?topic={topic}", b"x" * 3_000_000))[0] == 413
    assert records_in(stack, topic) == []


def test_what_is_not_there_is_404_and_another_method_405(gateway: Caller, topic: str) -> None:
    for path in ("/", "/produce/", f"/produce/{topic}/", f"/produce/{topic}/a/b", "/produces", "/topics/x"):
        assert problem(gateway.get(path))[0] == 404, path
    answer = gateway.client.delete("/topics")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert gateway.client.post(f"/produce/{topic}/v").status_code == 405
    assert gateway.client.put(f"/produce/{topic}").headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "path",
    [
        "/produce/TOPIC/v?kye=1",
        "/produce/TOPIC/v?key=1&key=2",
        "/produce/TOPIC/%FF",
        "/produce/TOPIC/v?key=%FF",
        "/topics?x",
    ],
)
def test_a_query_or_path_that_cannot_be_meant_is_400(
    gateway: Caller, stack: Settings, topic: str, path: str
) -> None:
    assert problem(gateway.get(path.replace("TOPIC", topic)))[0] == 400
    assert records_in(stack, topic) == []


def test_a_webhook_without_a_topic_is_400(gateway: Caller) -> None:
    assert problem(gateway.post("/webhook", b"v"))[0] == 400
    assert problem(gateway.post("/webhook?topic=", b"v"))[0] == 400
