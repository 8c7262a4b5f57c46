"""Messages as callers write them: checked whole before anything is sent, with the index of what is wrong.

Arrays of a thousand pass here for every request, so the usual message is looked at with as few steps as can be. It
knows neither which topics there are nor who may use them.
"""

import json
from typing import Any, NamedTuple, NoReturn

import orjson

from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.messages import ANY_PARTITION, NO_TIME, Alike, Message, Messages, RecordHeaders
from strom.streams.topics import MAX_MESSAGE_BYTES

# The largest message, with its key and headers; the rest is for what Kafka puts around it.
LARGEST = MAX_MESSAGE_BYTES - 4096
LATEST_TIME_MS = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1
_VALUE: tuple[str, ...] = ("value",)
_VALUE_AND_TOPIC = (*_VALUE, "topic")
_OPTIONAL = ("partition", "timestamp", "key", "headers")
_STRINGS = {str}
_SHOWN = 60
_HEADER = frozenset(("key", "value"))


class Malformed(ValueError):  # noqa: N818 - becomes a Problem where the index is known
    """Says what is wrong with one message."""


def read_json(body: bytes | memoryview) -> Any:
    """Strictly: UTF-8, no NaN, no half of a surrogate pair, nothing after it. Five times as fast as the standard library's."""
    if not body:
        raise Problem(400, "The body is empty; send JSON.")
    try:
        return orjson.loads(body)
    except ValueError as error:
        raise Problem(400, f"The body is not JSON: {error}; correct it.") from None


class Given(NamedTuple):
    """What a body holds: one message, or an array whose messages are told apart by their index."""

    messages: Messages
    is_array: bool

    def place(self, index: int) -> str:
        """How a sentence about one of them begins."""
        return at(index) if self.is_array else ""


def read_messages(body: bytes | memoryview, topic: str | None) -> Given:
    """The messages of a body, one or an array, all for this topic or each with its own."""
    found = read_json(body)
    if type(found) is list:
        alike = None if topic is None else _alike(found, topic)
        given = Given(_one_by_one(found, topic) if alike is None else alike, is_array=True)
    else:
        given = Given([_one(found, topic)], is_array=False)
    if len(body) > LARGEST:  # else none is: no message is larger than its JSON
        for index, message in enumerate(given.messages):
            refuse_too_large(message, given.place(index))
    return given


def _alike(found: list[Any], topic: str) -> Alike | None:
    """The array, if each of it has a value and a key, both strings, and nothing else."""
    try:
        values = [each["value"] for each in found]
        keys = [each["key"].encode() for each in found]
    except (AttributeError, KeyError, TypeError):  # not a string, not there, not an object
        return None
    if set(map(type, values)) != _STRINGS or sum(map(len, found)) != 2 * len(found):
        return None
    return Alike(topic, values, keys)


def _one_by_one(found: list[Any], topic: str | None) -> list[Message]:
    """Whatever there is to say against one of them is said here."""
    messages: list[Message] = []
    try:
        for item in found:
            messages.append(_message(item, topic))
    except Malformed as error:
        raise Problem(400, f"{at(len(messages))}{error}.") from None
    return messages


def _one(found: Any, topic: str | None) -> Message:
    try:
        return _message(found, topic)
    except Malformed as error:
        raise Problem(400, f"{error}.") from None


def at(index: int) -> str:
    """How a sentence about one message of an array begins; counted from 0."""
    return f"messages[{index}]: "


def _message(item: Any, topic: str | None) -> Message:
    if type(item) is not dict:
        raise Malformed(f"a message is an object with a value, not {shown(item)}")
    value = item.get("value")
    if type(value) is not str:
        _wrong_value(item)
    payload = value.encode()
    required = _VALUE
    if topic is None:
        topic = text_of(item, "topic")
        if topic is None:
            raise Malformed("topic is missing; name the topic that the message is for")
        required = _VALUE_AND_TOPIC
    rest = len(item) - len(required)
    if not rest:
        return Message(topic, payload)
    if rest == 1 and type(key := item.get("key")) is str:
        return Message(topic, payload, key.encode())
    for name in item:
        if name not in _OPTIONAL and name not in required:
            raise Malformed(f"{shown(name)} is not a property of a message")
    return _with_options(item, topic, payload)


def _with_options(item: dict[str, Any], topic: str, payload: bytes) -> Message:
    key = text_of(item, "key")
    return Message(
        topic,
        payload,
        None if key is None else key.encode(),
        number_of(item, "partition", 0, LARGEST_PARTITION, ANY_PARTITION),
        number_of(item, "timestamp", 1, LATEST_TIME_MS, NO_TIME),
        _headers(item["headers"]) if "headers" in item else None,
    )


def _wrong_value(item: dict[str, Any]) -> NoReturn:
    if "value" not in item:
        raise Malformed("value is missing; it is the text to write")
    raise Malformed(f"value is {shown(item['value'])}, but must be a string")


def text_of(item: dict[str, Any], name: str) -> str | None:
    if name not in item:
        return None
    found = item[name]
    if type(found) is not str:
        raise Malformed(f"{name} is {shown(found)}, but must be a string")
    return found


def number_of(item: dict[str, Any], name: str, least: int, most: int, absent: int) -> int:
    if name not in item:
        return absent
    found = item[name]
    if type(found) is not int:
        raise Malformed(f"{name} is {shown(found)}, but must be a whole number")
    if not least <= found <= most:
        raise Malformed(f"{name} is {shown(found)}, but must be from {least} to {most}")
    return found


def _headers(found: Any) -> RecordHeaders:
    if type(found) is not list:
        raise Malformed(f"headers is {shown(found)}, but must be an array of objects with key and value")
    return [_header(number, each) for number, each in enumerate(found)]


def _header(number: int, found: Any) -> tuple[str, str | bytes | None]:
    if type(found) is not dict or found.keys() != _HEADER:
        raise Malformed(f"headers[{number}] is {shown(found)}, but must be an object with key and value")
    for name in ("key", "value"):
        if type(found[name]) is not str:
            raise Malformed(f"headers[{number}].{name} is {shown(found[name])}, but must be a string")
    if "\0" in found["key"]:
        raise Malformed(f"headers[{number}].key has a NUL character, which the name of a header cannot have")
    return found["key"], found["value"].encode()


def shown(found: Any) -> str:
    """What was given, short enough for a sentence."""
    if isinstance(found, (list, dict)):
        return "an array" if isinstance(found, list) else "an object"
    text = json.dumps(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def refuse_too_large(message: Message, place: str = "") -> None:
    if message.size > LARGEST:
        raise Problem(
            413,
            f"{place}the message has {message.size:,} bytes with its key and headers, {LARGEST:,} are the most.",
        )
