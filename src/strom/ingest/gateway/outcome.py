"""What became of messages that were sent: the answer if all are written, and for each of them the truth if not."""

import json
from typing import NamedTuple

from confluent_kafka import KafkaError

from strom.ingest.gateway.answers import RETRY_LATER, Answer, Problem, json_answer

YES, NO, UNKNOWN = "yes", "no", "unknown"  # was it written?


class Written(NamedTuple):
    partition: int
    offset: int
    timestamp: int


class NotWritten(NamedTuple):
    status: int
    sentence: str
    written: str = NO


Outcome = Written | NotWritten

_REFUSALS = {
    KafkaError.MSG_SIZE_TOO_LARGE: NotWritten(413, "it is larger than the topic takes"),
    KafkaError.RECORD_LIST_TOO_LARGE: NotWritten(413, "it is larger than the topic takes"),
    KafkaError.INVALID_TIMESTAMP: NotWritten(400, "its timestamp is further from now than the topic takes"),
    KafkaError.INVALID_RECORD: NotWritten(
        400, "the topic does not take such a record (one that keeps the last of each key needs a key)"
    ),
    KafkaError._UNKNOWN_PARTITION: NotWritten(400, "the topic does not have that partition"),
    KafkaError._UNKNOWN_TOPIC: NotWritten(404, "the topic is gone"),
    KafkaError.UNKNOWN_TOPIC_OR_PART: NotWritten(404, "the topic is gone"),
    KafkaError._QUEUE_FULL: NotWritten(429, "the gateway holds as much as it may"),
    KafkaError._PURGE_QUEUE: NotWritten(503, "it was not sent"),
}
LATE = NotWritten(503, "Kafka has not confirmed it in time", UNKNOWN)
# The leader has it, but not as many others as it waits for.
_DOUBTFUL = (KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def not_written(error: KafkaError) -> NotWritten:
    """A message that timed out may have reached Kafka, and so may one whose connection was cut."""
    found = _REFUSALS.get(error.code())
    if found is not None:
        return found
    if error.code() == KafkaError._MSG_TIMED_OUT:
        return LATE
    broker_said_no = error.code() > 0 and error.code() not in _DOUBTFUL
    return NotWritten(503, f"Kafka says: {error.str() or error.name()}", NO if broker_said_no else UNKNOWN)


def answer_one(topic: str, outcome: Outcome) -> Answer:
    """One object."""
    if isinstance(outcome, Written):
        return json_answer(_text(json.dumps(topic), outcome).encode())
    raise _problem([topic], [outcome], single=True)


def answer_all(topics: list[str], outcomes: list[Outcome], *, single: bool) -> Answer:
    """An array in the order of the messages."""
    names: dict[str, str] = {}
    parts: list[str] = []
    for topic, outcome in zip(topics, outcomes, strict=True):
        if type(outcome) is not Written:
            raise _problem(topics, outcomes, single=single)
        name = names.get(topic) or names.setdefault(topic, json.dumps(topic))
        parts.append(_text(name, outcome))
    return json_answer(f"[{','.join(parts)}]".encode())


def _text(topic: str, outcome: Written) -> str:
    partition, offset, timestamp = outcome
    return f'{{"topic":{topic},"partition":{partition},"offset":{offset},"timestamp":{timestamp}}}'


def _problem(topics: list[str], outcomes: list[Outcome], *, single: bool) -> Problem:
    """One status for all of them: 503 if any may be tried again, else that of the first; each is told with its own."""
    failed = [(index, each) for index, each in enumerate(outcomes) if isinstance(each, NotWritten)]
    index, worst = next((pair for pair in failed if pair[1].status == 503), failed[0])
    where = "The message" if single else f"messages[{index}]"
    fate = "was not written" if worst.written == NO else "may or may not be written"
    others = "" if len(failed) == 1 else f" ({len(failed)} of {len(outcomes)} messages have failed)"
    return Problem(
        worst.status,
        f"{where} {fate}: {worst.sentence}{others}; `messages` tells of each.",
        retry_after=RETRY_LATER if worst.status in (429, 503) else None,
        more={"messages": [_told(topic, each) for topic, each in zip(topics, outcomes, strict=True)]},
    )


def _told(topic: str, outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, Written):
        return {"written": YES, "topic": topic, **outcome._asdict()}
    return {"written": outcome.written, "topic": topic, "error": outcome.sentence, "status": outcome.status}
