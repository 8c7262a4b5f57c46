"""Takes records out of a Kafka consumer and writes them as callers read them; blocks, so it runs in threads."""

import json
import time
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from strom.ingest.gateway.answers import Answer, Problem, json_answer, kafka_away
from strom.settings import Settings
from strom.streams.client import UNREACHABLE, common_config, error_of
from strom.streams.record import Record, record_of

MOST_BYTES = 4 << 20  # of keys and values in one answer; one larger record comes alone
_SLICE = 0.2  # how soon a wait notices that it should end
_BUFFER_KB = 4096


def consumer_config(settings: Settings, group: str, **more: object) -> dict[str, object]:
    return common_config(settings, "strom-gateway") | {
        "group.id": group,
        "enable.auto.offset.store": False,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
        "queued.max.messages.kbytes": _BUFFER_KB,
        "allow.auto.create.topics": False,
        **more,
    }


def take(consumer: Consumer, most: int, timeout_ms: int, is_over: Callable[[], bool]) -> list[Record]:
    """Wait for the first record and take what is there by then; Problem for what a caller must know."""
    deadline = time.monotonic() + timeout_ms / 1000
    found: list[Record] = []
    size = 0
    while len(found) < most and size < MOST_BYTES:
        left = 0.0 if found else min(_SLICE, max(0.0, deadline - time.monotonic()))
        message = consumer.poll(left)
        if message is not None and message.error() is None:
            found.append(record_of(message))
            size += len(message)
        elif message is not None:
            _raise_unless_passing(message)
        elif found or is_over() or time.monotonic() >= deadline:
            break
    return found


def require_answer(consumer: Consumer, topic: str) -> None:
    """No records may mean that there are none, or that Kafka is away; only one of them is an empty answer."""
    try:
        consumer.list_topics(topic, timeout=3.0)
    except KafkaException as error:
        raise problem_of(error_of(error)) from None


def _raise_unless_passing(message: Message) -> None:
    error = message.error()
    if error is not None and (error.fatal() or not (error.retriable() or error.code() in UNREACHABLE)):
        raise problem_of(error)


def problem_of(error: KafkaError) -> Problem:
    """What a caller is told when Kafka says no to a reader."""
    if error.code() in UNREACHABLE:
        return kafka_away()
    told = (error.str() or error.name()).rstrip(".")
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._NO_OFFSET):
        return Problem(400, f"There is no record at that place ({told}); /offsets tells which there are.")
    if error.code() in (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    ):
        return Problem(404, f"The topic or partition is gone ({told}).")
    return Problem(503, f"Kafka says: {told}; try again soon.", retry_after=2)


def records_answer(records: Iterable[Record]) -> Answer:
    return json_answer(f"[{','.join(map(_as_json, records))}]".encode())


def _as_json(record: Record) -> str:
    return json.dumps(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.at_ms,
            "key": _text(record.key),
            "value": _text(record.value),
            "headers": [{"key": name, "value": _text(value)} for name, value in record.headers],
        },
        separators=(",", ":"),
    )


def _text(found: bytes | None) -> str | None:
    """Values are strings here; bytes that are no UTF-8 become the sign for that."""
    return None if found is None else found.decode(errors="replace")
