"""JSON as Strom reads it, whatever the dialect: UTF-8, no NaN, nothing after the value, no endless numbers or keys."""

import json
from typing import Any

from strom.domain import reading as rules
from strom.domain import values
from strom.domain.reading import Rejected

# Bounds of the JSON reader that Spark uses; what is beyond them is refused by both.
MAX_NUMBER_LENGTH = 1000
MAX_KEY_LENGTH = 50_000


def strict_value(payload: bytes) -> Any:
    """What the payload says; Rejected if it is no JSON."""
    try:
        return json.loads(
            payload.decode("utf-8"),
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_float,
            object_pairs_hook=_short_keys if len(payload) > MAX_KEY_LENGTH else None,
        )
    except (ValueError, RecursionError):
        raise Rejected(rules.NOT_JSON) from None


def strict_object(payload: bytes) -> dict[str, Any]:
    message = strict_value(payload)
    if not isinstance(message, dict):
        raise Rejected(rules.NOT_AN_OBJECT)
    return message


def sent_text(value: Any) -> str | None:
    """A member's value as the text that the rules judge, which take no structure; None is "not delivered"."""
    return "[" if isinstance(value, dict | list) else values.scalar_text(value)


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError("a number is too long")
    return int(text)


def _float(text: str) -> float:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError("a number is too long")
    return float(text)


def _short_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any(len(key) > MAX_KEY_LENGTH for key, _ in pairs):
        raise ValueError("a key is too long")
    return dict(pairs)
