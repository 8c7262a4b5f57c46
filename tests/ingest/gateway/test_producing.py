"""The three ways in and the webhook, over a real socket into a real Kafka."""

import http.client
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from strom.settings import Settings
from strom.streams.admin import admin_client, topic_names
from strom.streams.topics import RAW
from tests.ingest.gateway.calling import PASSWORD, Caller, basic, records_in
from tests.streams.writing import topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack


def test_a_message_in_the_path_is_written_with_its_key(gateway: Caller, stack: Settings, topic: str) -> None:
    answer = gateway.get(f"/produce/{topic}/a%2Fb%20%C3%A4+?key=k%201+")
    assert answer.status_code == 200
    (record,) = records_in(stack, topic)
    assert answer.json() == {
        "topic": topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.at_ms,
    }
    assert (record.value, record.key, record.headers) == ("a/b ä+".encode(), b"k 1 ", ())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_one_message_in_the_body_is_answered_by_an_array(
    gateway: Caller, stack: Settings, topic: str, method: str
) -> None:
    message = {
        "value": '{"a": "ä"}',
        "key": "k",
        "partition": 1,
        "timestamp": 1_700_000_000_000,
        "headers": [{"key": "a", "value": "1"}, {"key": "a", "value": "ü"}],
    }
    answer = gateway.post(f"/produce/{topic}", message, method=method)
    assert (answer.status_code, answer.json()) == (
        200,
        [{"topic": topic, "partition": 1, "offset": 0, "timestamp": 1_700_000_000_000}],
    )
    (record,) = records_in(stack, topic)
    assert (record.value, record.key, record.at_ms) == ('{"a": "ä"}'.encode(), b"k", 1_700_000_000_000)
    assert record.headers == (("a", b"1"), ("a", "ü".encode()))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_array_is_answered_in_its_order(gateway: Caller, stack: Settings, topic: str, method: str) -> None:
    messages = [{"value": str(number), "partition": number % 2} for number in range(1000)]
    answer = gateway.post(f"/produce/{topic}", messages, method=method)
    assert answer.status_code == 200
    assert [(each["partition"], each["offset"]) for each in answer.json()] == [
        (number % 2, number // 2) for number in range(1000)
    ]
    assert [record.value for record in records_in(stack, topic)] == [
        str(number).encode() for number in [*range(0, 1000, 2), *range(1, 1000, 2)]
    ]


def test_where_kafka_stamps_records_itself_an_array_is_told_its_times(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    name = topic_of(stack, unique("stamped"), config={"message.timestamp.type": "LogAppendTime"})
    messages = [{"value": str(number), "key": f"k{number}"} for number in range(40)]
    told = gateway.post(f"/produce/{name}", messages).json()
    lying = {(record.partition, record.offset): record.at_ms for record in records_in(stack, name)}
    assert {(each["partition"], each["offset"]): each["timestamp"] for each in told} == lying


def test_an_array_for_a_topic_that_was_made_anew_with_fewer_partitions_is_written(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    name = topic_of(stack, unique("anew"), partitions=5)
    messages = [{"value": str(number), "key": f"k{number}"} for number in range(40)]
    assert gateway.post(f"/produce/{name}", messages).status_code == 200
    admin = admin_client(stack)
    admin.delete_topics([name])[name].result()
    until(lambda: name not in topic_names(stack), "the topic is gone")
    topic_of(stack, name, partitions=1)
    answer = gateway.post(f"/produce/{name}", messages)
    assert answer.status_code == 200, answer.text
    assert sorted((each["partition"], each["offset"]) for each in answer.json()) == [
        (0, number) for number in range(40)
    ]


def test_each_message_of_an_array_is_answered_by_its_own_place_however_often_its_key_comes(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    keys = [f"k{number * number % 37}" if number % 5 else "" for number in range(1000)]
    messages = [{"value": f"ä{number}", "key": key} for number, key in enumerate(keys)]
    answer = gateway.post(f"/produce/{topic}", messages)
    assert answer.status_code == 200
    found = {(record.partition, record.offset): record for record in records_in(stack, topic)}
    assert len(found) == 1000
    for message, place in zip(messages, answer.json(), strict=True):
        record = found[place["partition"], place["offset"]]
        assert (record.value, record.key) == (message["value"].encode(), message["key"].encode())
        assert (place["topic"], place["timestamp"]) == (topic, record.at_ms)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_message_may_name_its_topic(gateway: Caller, stack: Settings, topic: str, method: str) -> None:
    body = [{"topic": topic, "value": "1"}, {"topic": RAW, "value": "2"}, {"topic": topic, "value": "3"}]
    answer = gateway.post("/produce", body, method=method)
    assert [each["topic"] for each in answer.json()] == [topic, RAW, topic]
    assert {record.value for record in records_in(stack, topic)} == {b"1", b"3"}
    single = gateway.post("/produce", body[0], method=method)
    assert (single.status_code, len(single.json())) == (200, 1)


def test_the_same_key_goes_to_the_same_partition_in_order(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    def send(sender: int) -> None:
        caller = gateway.as_user("anna")
        for number in range(20):
            body = [{"value": f"{sender}/{2 * number + each}", "key": f"key-{sender}"} for each in (0, 1)]
            assert caller.post(f"/produce/{topic}", body).status_code == 200

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(send, range(6)))
    found = records_in(stack, topic)
    for sender in range(6):
        own = [record for record in found if record.key == f"key-{sender}".encode()]
        assert len({record.partition for record in own}) == 1
        assert [record.value for record in own] == [f"{sender}/{number}".encode() for number in range(40)]


def test_messages_for_the_raw_topic_get_what_every_door_gives_them(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    meter, before = unique("haus"), time.time() * 1000
    payload = json.dumps({"api_version": "v1", "name": meter, "1-0:1.8.0": {"value": 1}})
    gateway.post(f"/produce/{RAW}", [{"value": payload}, {"value": payload, "key": f"own-{meter}"}])
    (by_name,) = [each for each in records_in(stack, RAW) if each.key == meter.encode()]
    (by_key,) = [each for each in records_in(stack, RAW) if each.key == f"own-{meter}".encode()]
    for record in (by_name, by_key):
        assert record.value == payload.encode()
        assert (record.header("strom-source"), record.header("strom-dialect")) == ("http", "adapter_json")
        assert before <= int(record.header("strom-received") or 0) <= time.time() * 1000


def test_a_webhook_is_written_as_it_comes_with_its_own_headers(
    gateway: Caller, stack: Settings, topic: str
) -> None:
    headers = {
        "Content-Type": "application/octet-stream",
        "X-Event": "push",
        "X-Bytes": b"\xe4",
        "Cookie": "secret",
    }
    answer = gateway.post(f"/webhook?topic={topic}", b"\xff\x00raw", headers=headers)
    assert (answer.status_code, sorted(answer.json())) == (200, ["offset", "partition", "timestamp", "topic"])
    (record,) = records_in(stack, topic)
    assert (record.value, record.key) == (b"\xff\x00raw", None)
    assert sorted(record.headers) == [("x-bytes", b"\xe4"), ("x-event", b"push")]


def test_a_webhook_for_the_raw_topic_may_name_the_dialect(
    gateway: Caller, stack: Settings, unique: Callable[[str], str]
) -> None:
    body = json.dumps({"name": unique("hook")}).encode()
    assert gateway.post(f"/webhook?topic={RAW}", body, headers={"strom-dialect": "other"}).status_code == 200
    (record,) = [each for each in records_in(stack, RAW) if each.value == body]
    assert record.header("strom-dialect") == "other"
    assert record.header("strom-source") == "http"


@pytest.mark.parametrize(
    "content_type",
    [None, "application/x-www-form-urlencoded", "application/json", 'application/JSON; charset="UTF-8"'],
)
def test_json_is_read_also_without_a_content_type_and_with_that_of_curl(
    gateway: Caller, topic: str, content_type: str | None
) -> None:
    host = gateway.client.base_url
    connection = http.client.HTTPConnection(host.host, host.port or 0, timeout=60)
    connection.putrequest("POST", f"/produce/{topic}")
    connection.putheader("Authorization", basic("anna", PASSWORD).decode())
    if content_type is not None:
        connection.putheader("Content-Type", content_type)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders(iter([b'{"value"', b':"v"}']), encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())[0]["topic"]) == (200, topic)
    connection.close()


def test_messages_and_requests_are_counted(gateway: Caller, topic: str) -> None:
    before = {name: gateway.metric(name) for name in ("written_total", "refused_total", "requests_total")}
    gateway.post(f"/produce/{topic}", [{"value": "1"}, {"value": "2"}])
    gateway.post(f"/produce/{topic}", [{"value": 1}])
    assert gateway.metric("written_total") == before["written_total"] + 2
    assert gateway.metric("refused_total") == before["refused_total"] + 1
    assert gateway.metric("requests_total") > before["requests_total"]
    assert (gateway.metric("in_flight"), gateway.metric("held_bytes")) == (0, 0)
    until(lambda: gateway.get("/health").json() == {"status": "ok", "kafka": "connected"})
