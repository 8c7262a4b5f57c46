"""The types of the columns that a topic of the contract has in SQL, made of its JSON Schema."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from strom.streams import topics

Schema = Mapping[str, Any]

# The time that a live query goes by; records of other topics have only their own.
EVENT_TIMES = {topics.READINGS: "at", topics.LOAD_PROFILE: "start", topics.ALERTS: "started"}
_TYPED = (topics.READINGS, topics.LOAD_PROFILE, topics.ALERTS, topics.METERS)
_SIMPLE = {"integer": "bigint", "number": "decimal(18,3)", "boolean": "boolean"}


def is_typed(topic: str) -> bool:
    return topic in _TYPED


def fields_of(topic: str) -> dict[str, str]:
    """Name and Spark type of each field of the topic's values, in their order."""
    schema = json.loads((files("strom.streams") / "schemas" / f"{topic}.json").read_text(encoding="utf-8"))
    return _fields(schema, schema)


def ddl(fields: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in fields.items())


def _fields(schema: Schema, root: Schema) -> dict[str, str]:
    return {name: _type(each, root) for name, each in schema["properties"].items()}


def _type(schema: Schema, root: Schema) -> str:
    if "$ref" in schema:
        return _type(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    if "const" in schema:
        return "boolean" if isinstance(schema["const"], bool) else "int"
    kind = schema.get("type", "string")
    if kind == "array":
        return f"array<{_type(schema['items'], root)}>"
    if kind == "object":
        if "properties" not in schema:
            return "map<string,string>"
        return "struct<" + ",".join(f"`{name}`:{each}" for name, each in _fields(schema, root).items()) + ">"
    if kind == "string":
        return "timestamp" if "\\d{4}-\\d{2}" in schema.get("pattern", "") else "string"
    return _SIMPLE[kind]
