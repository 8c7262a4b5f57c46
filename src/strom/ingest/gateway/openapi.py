"""The gateway's OpenAPI description: every call with its body, parameters and all of its answers.

A test holds it against the routes, and another against what the running gateway answers.
"""

from typing import Any

from strom import __version__
from strom.ingest.gateway.openapi_shapes import ANSWERS, SHAPES, array, json_body, parameter, ref

_TITLE = "Strom's HTTP gateway"
_SUMMARY = "Write messages into Kafka and read them back over HTTP."
_TOPIC = parameter("path", "topic", "Name of a topic.")
_GROUP = parameter("path", "group", "Consumer group.", pattern="^[A-Za-z0-9._-]{1,249}$")
_INSTANCE = parameter("path", "instance", "Consumer of the group.", pattern="^[A-Za-z0-9._-]{1,249}$")
_ALWAYS = ("400", "401", "403", "429")
_ON_TOPICS = (*_ALWAYS, "404", "503")
_WITH_BODY = (*_ON_TOPICS, "408", "413", "415")


def description() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": __version__, "summary": _SUMMARY},
        "paths": _write_paths() | _read_paths() | _consumer_paths() | _open_paths(),
        "security": [{"basic": []}],
        "components": {
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
            "schemas": SHAPES,
            "responses": ANSWERS,
        },
    }


def _write_paths() -> dict[str, Any]:
    one_or_many = {"oneOf": [ref("Message"), array(ref("Message"))]}
    each_with_topic = {"oneOf": [ref("MessageForTopic"), array(ref("MessageForTopic"))]}
    key = parameter("query", "key", "Key of the record.", required=False)
    message = parameter("path", "message", "The value, percent-encoded.", minLength=1)
    written = array(ref("Written"))
    return {
        "/produce/{topic}/{message}": {
            "get": _call("Write one message", ref("Written"), (*_ON_TOPICS, "413"), [_TOPIC, message, key])
        },
        "/produce/{topic}": _either(
            "Write one message or many to a topic", written, _WITH_BODY, [_TOPIC], json_body(one_or_many)
        ),
        "/produce": _either(
            "Write one message or many, each to its topic",
            written,
            _WITH_BODY,
            [],
            json_body(each_with_topic),
        ),
        "/webhook": {
            "post": _call(
                "Write a request's body as it is; headers that are not HTTP's own become the record's",
                ref("Written"),
                (*_ON_TOPICS, "408", "413"),
                [parameter("query", "topic", "Name of a topic.", minLength=1)],
                {"required": False, "content": {"*/*": {"schema": {"type": "string"}}}},
            )
        },
    }


def _read_paths() -> dict[str, Any]:
    moment = parameter(
        "path",
        "moment",
        "`earliest`, `latest` or epoch milliseconds.",
        pattern="^(earliest|latest|[0-9]{1,15})$",
    )
    return {
        "/fetch": _either(
            "Read records at given places", array(ref("Record")), _WITH_BODY, [], json_body(ref("Fetch"))
        ),
        "/offsets/{moment}": _either(
            "Which offsets partitions have at a moment",
            array(ref("Offset")),
            _WITH_BODY,
            [moment],
            json_body(ref("Places")),
        ),
        "/topics": {"get": _call("The topics that the user may use", ref("Topics"), (*_ALWAYS, "503"))},
    }


def _consumer_paths() -> dict[str, Any]:
    member = [_GROUP, _INSTANCE]
    reset = parameter(
        "header", "Kafka-Auto-Offset-Reset", "Where a new group begins.", required=False,
        enum=["earliest", "latest", "none"],
    )  # fmt: skip
    commit = parameter(
        "header", "Kafka-Enable-Auto-Commit", "Whether reading on counts as done.", required=False,
        enum=["true", "false"],
    )  # fmt: skip
    return {
        "/consume/{group}/{instance}/{topic}": _either(
            "Read on as a consumer of a group",
            array(ref("Record")),
            _WITH_BODY,
            [*member, _TOPIC, reset, commit],
            json_body(ref("Wait"), required=False),
        ),
        "/commit/{group}/{instance}": _either(
            "Commit what was read, or given offsets",
            ref("Done"),
            _WITH_BODY,
            member,
            json_body(ref("PlacesWithOffsets"), required=False),
        ),
        "/committed/{group}/{instance}": _either(
            "Which offsets the group has committed",
            array(ref("Committed")),
            _WITH_BODY,
            member,
            json_body(ref("Places"), required=False),
        ),
        "/delete-consumer/{group}/{instance}": {
            method: _call("Close a consumer", ref("Done"), (*_ALWAYS, "404", "503"), member)
            for method in ("post", "delete")
        },
        "/consumers": {"get": _call("The user's consumers", array(ref("Group")), (*_ALWAYS, "503"))},
    }


def _open_paths() -> dict[str, Any]:
    health = _call("Whether the gateway is well", ref("Health"), ())
    metrics = _call("What it has counted, for Prometheus", {}, ())
    metrics["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    document = _call("This description", {"type": "object"}, ())
    calls = {"/health": health, "/metrics": metrics, "/openapi.json": document}
    return {path: {"get": call | {"security": []}} for path, call in calls.items()}


def _either(
    summary: str,
    answer: dict[str, Any],
    problems: tuple[str, ...],
    parameters: list[dict[str, Any]],
    body: dict[str, Any],
) -> dict[str, Any]:
    """The same by GET and by POST; programs that cannot send a body with GET use POST."""
    return {method: _call(summary, answer, problems, parameters, body) for method in ("get", "post")}


def _call(
    summary: str,
    answer: dict[str, Any],
    problems: tuple[str, ...],
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    good = {"description": summary, "content": {"application/json": {"schema": answer}}}
    bad = {status: {"$ref": f"#/components/responses/{status}"} for status in problems}
    call: dict[str, Any] = {"summary": summary, "responses": {"200": good} | bad}
    if parameters:
        call["parameters"] = parameters
    return call if body is None else call | {"requestBody": body}
