"""The shapes that the gateway's description is made of: messages, records, places and problems."""

from typing import Any

from strom.ingest.gateway.bodies import LARGEST_PARTITION, LATEST_TIME_MS
from strom.ingest.gateway.places import LARGEST_OFFSET, LONGEST_TIMEOUT_MS, USUAL_TIMEOUT_MS

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_PARTITION = {"type": "integer", "minimum": 0, "maximum": LARGEST_PARTITION}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": LARGEST_OFFSET}
_TIME = {"type": "integer", "description": "Epoch milliseconds."}
_TIMEOUT = {
    "type": "integer",
    "minimum": 0,
    "maximum": LONGEST_TIMEOUT_MS,
    "default": USUAL_TIMEOUT_MS,
    "description": "How long to wait for a record, in ms.",
}
_PROBLEMS = {
    "400": "Something in the request is malformed; an array is told with the index of the message",
    "401": "No or wrong credentials",
    "403": "The user may not do that, or not on that topic",
    "404": "There is no such topic or consumer",
    "408": "The body did not come in time",
    "413": "The body or a message is too large",
    "415": "The body is not JSON",
    "429": "As much is under way as may be; try again after Retry-After",
    "503": "Kafka does not answer, or its client does not; try again after Retry-After",
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
_CHALLENGE = {"WWW-Authenticate": {"schema": _TEXT}}
_HEADERS = {"401": _CHALLENGE, "429": _RETRY, "503": _RETRY}


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def array(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def json_body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def parameter(where: str, name: str, meaning: str, *, required: bool = True, **schema: Any) -> dict[str, Any]:
    return {"in": where, "name": name, "required": required, "description": meaning, "schema": _TEXT | schema}


def _object(required: tuple[str, ...], closed: bool = True, **properties: Any) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return shape | ({"additionalProperties": False} if closed else {})


_HEADER = _object(("key", "value"), key=_TEXT, value=_TEXT)
_READ_HEADER = _object(("key", "value"), key=_TEXT, value=_TEXT_OR_NULL)
_MESSAGE: dict[str, Any] = {
    "value": _TEXT,
    "partition": _PARTITION,
    "timestamp": _TIME | {"minimum": 1, "maximum": LATEST_TIME_MS},
    "key": _TEXT,
    "headers": array(_HEADER),
}
_PLACE = _object(("topic", "partition"), topic=_TEXT, partition=_PARTITION)
_PLACE_WITH_OFFSET = _object(
    ("topic", "partition", "offset"), topic=_TEXT, partition=_PARTITION, offset=_OFFSET
)
_WRITTEN: dict[str, Any] = {
    "topic": _TEXT,
    "partition": _PARTITION,
    "offset": {"type": ["integer", "null"]},
    "timestamp": _TIME,
}
_OUTCOME = _object(
    ("written", "topic"),
    written={"enum": ["yes", "no", "unknown"]},
    error=_TEXT,
    status={"type": "integer"},
    **_WRITTEN,
)

SHAPES: dict[str, Any] = {
    "Message": _object(("value",), **_MESSAGE),
    "MessageForTopic": _object(("value", "topic"), topic=_TEXT, **_MESSAGE),
    "Written": _object(tuple(_WRITTEN), **_WRITTEN),
    "Place": _PLACE,
    "PlaceWithOffset": _PLACE_WITH_OFFSET,
    "Places": {
        "oneOf": [
            ref("Place"),
            _object(("topicPartitions",), topicPartitions=array(ref("Place")) | {"minItems": 1}),
            array(ref("Place")) | {"minItems": 1},
        ]
    },
    "PlacesWithOffsets": {
        "oneOf": [
            ref("PlaceWithOffset"),
            _object(
                ("topicPartitionOffsets",),
                topicPartitionOffsets=array(ref("PlaceWithOffset")) | {"minItems": 1},
            ),
            array(ref("PlaceWithOffset")) | {"minItems": 1},
        ]
    },
    "Fetch": {
        "oneOf": [
            _object(
                ("topic", "partition", "offset"),
                topic=_TEXT, partition=_PARTITION, offset=_OFFSET, timeout=_TIMEOUT,
            ),
            _object(
                ("topicPartitionOffsets",),
                topicPartitionOffsets=array(ref("PlaceWithOffset")) | {"minItems": 1},
                timeout=_TIMEOUT,
            ),
        ]
    },
    "Wait": _object((), timeout=_TIMEOUT),
    "Record": _object(
        ("topic", "partition", "offset", "timestamp", "key", "value", "headers"),
        topic=_TEXT,
        partition=_PARTITION,
        offset=_OFFSET,
        timestamp={"type": ["integer", "null"]},
        key=_TEXT_OR_NULL,
        value=_TEXT_OR_NULL,
        headers=array(_READ_HEADER),
    ),
    "Offset": _PLACE_WITH_OFFSET,
    "Committed": _object(
        ("topic", "partition", "offset"),
        topic=_TEXT, partition=_PARTITION, offset={"type": ["integer", "null"]},
    ),
    "Topics": {"type": "object", "additionalProperties": {"type": "integer"}},
    "Group": _object(
        ("name", "instances"),
        name=_TEXT,
        instances=array(
            _object(
                ("name", "topics"),
                name=_TEXT,
                topics=array(
                    _object(("topic", "partitions"), topic=_TEXT, partitions=array({"type": "integer"}))
                ),
            )
        ),
    ),
    "Done": _object(("result", "status"), result={"const": "Success"}, status={"const": 200}),
    "Health": _object(
        ("status", "kafka"),
        status={"enum": ["ok", "degraded"]},
        kafka={"enum": ["connected", "lost"]},
        failing=array(_TEXT) | {"description": "Background tasks that fail at the moment."},
        calls_given_up={
            "type": "integer",
            "description": "Calls of Kafka's client that were given up and have not come back.",
        },
    ),
    "Problem": _object(
        ("error", "status"), error=_TEXT, status={"type": "integer"}, messages=array(_OUTCOME)
    ),
}  # fmt: skip

ANSWERS: dict[str, Any] = {
    status: {"description": meaning, "content": {"application/json": {"schema": ref("Problem")}}}
    | ({"headers": _HEADERS[status]} if status in _HEADERS else {})
    for status, meaning in _PROBLEMS.items()
}
