"""Which key a raw record gets: the adapter's name, so that one meter stays in order on one partition.

It looks at no more of the payload than it needs to find the name, and never judges whether that is good.
"""

import json
import re

# The name stands near the start of what adapters send, after plain members. Anything less plain (an escape, a
# nested value before it, no name in the first members) is left to the JSON parser. All possessive: linear.
_PLAIN_NAME = re.compile(
    rb"""\s*+\{\s*+
    (?:"(?!name")[^"\\\x00-\x1f]*+"\s*+:\s*+(?:"[^"\\\x00-\x1f]*+"|[-+.0-9eE]++|true|false|null)\s*+,\s*+){0,8}+
    "name"\s*+:\s*+"([^"\\\x00-\x1f]++)"\s*+[,}]""",
    re.VERBOSE,
)


def meter_key(payload: bytes, topic: str, base: str) -> bytes:
    """The adapter's name; without one the last level of the MQTT topic, which is the adapter's as well."""
    plain = _PLAIN_NAME.match(payload)
    if plain is not None and _is_text(name := plain[1]):
        return name
    return _parsed_name(payload) or topic.removeprefix(f"{base}/").encode()


def _is_text(name: bytes) -> bool:
    if name.isascii():
        return True
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parsed_name(payload: bytes) -> bytes:
    if b"name" not in payload and b"\\u" not in payload:
        return b""
    try:
        # Numbers are of no interest, and some are too long to convert.
        found = json.loads(payload.decode(), parse_int=len, parse_float=len)
        name = found.get("name") if isinstance(found, dict) else None
        return name.encode() if isinstance(name, str) else b""
    except (ValueError, RecursionError):  # not UTF-8, not JSON, too deep, or half of a surrogate pair
        return b""
