"""What became of messages that were sent: the answer if all are written, and for each of them the truth if not."""

from typing import NamedTuple

import orjson
from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from strom.ingest.gateway.answers import RETRY_LATER, Answer, Problem, json_answer
from strom.ingest.gateway.messages import Message, Messages

YES, NO, UNKNOWN = "yes", "no", "unknown"  # was it written?


class NotWritten(NamedTuple):
    status: int
    sentence: str
    written: str = NO


# What a caller is told of a record that is written, as JSON: of a thousand, an object for each is dear. Or why it is not.
Outcome = str | NotWritten

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
LOST = NotWritten(503, "the process that was writing it has ended", UNKNOWN)
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


# A place as it is told. No name of a topic has a character that JSON would write otherwise.
_BEGINNING, _ENDING = '{"topic":"%s","partition":%s,"offset":', ',"timestamp":%s}'
_PLACE = f"{_BEGINNING}%s{_ENDING}"


def beginning(topic: str, partition: int) -> str:
    """What is told before the offset."""
    return _BEGINNING % (topic, partition)


def ending(timestamp: int) -> str:
    """What is told after the offset."""
    return _ENDING % timestamp


def told_offset(offset: int | None) -> int | str:
    """None where a repeated attempt found the record written long ago: Kafka then no longer says where."""
    return "null" if offset is None else offset


def written(report: Report) -> str:
    """Taken from it at once: a report has a copy of the whole message, and should not be kept."""
    offset = told_offset(report.offset())
    return _PLACE % (report.topic(), report.partition(), offset, report.timestamp()[1])


def answer_one(message: Message, outcome: Outcome) -> Answer:
    """One object."""
    if isinstance(outcome, NotWritten):
        raise _problem([message], [outcome], single=True)
    return json_answer(outcome.encode())


def answer_all(messages: Messages, outcomes: list[Outcome], *, single: bool) -> Answer:
    """An array in the order of the messages."""
    try:
        return json_answer(f"[{','.join(outcomes)}]".encode())  # type: ignore[arg-type]
    except TypeError:  # one is not written, and no text; cheaper than to ask each of a thousand
        raise _problem(messages, outcomes, single=single) from None


def _problem(messages: Messages, outcomes: list[Outcome], *, single: bool) -> Problem:
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
        more={"messages": [_told(*each) for each in zip(messages, outcomes, strict=True)]},
    )


def _told(message: Message, outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, NotWritten):
        told = {"written": outcome.written, "topic": message.topic}
        return told | {"error": outcome.sentence, "status": outcome.status}
    return {"written": YES, **orjson.loads(outcome)}
