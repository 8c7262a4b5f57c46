"""Which dialect is spoken on which MQTT topic, as the settings say: what the bridge asks for and what it writes on a record.

It looks at topics only, never at a payload.
"""

from typing import NamedTuple

from strom.devices.registry import DIALECTS
from strom.domain import dialects
from strom.ingest.parcel import Headers
from strom.settings import Settings
from strom.streams import topics

# Topics that are remembered; a sender that invents more, or longer ones, only makes the rules look again.
MOST_KNOWN = 10_000
LONGEST_KNOWN = 256


class Marks(NamedTuple):
    """What every message of one topic gets."""

    dialect: str
    headers: Headers
    key: bytes  # empty where the payload may tell a better one


class DialectRules:
    """Asked for every message: a topic is looked at once and remembered."""

    def __init__(self, settings: Settings) -> None:
        base = settings.mqtt.topic
        self._rules = [(pattern.split("/"), name) for pattern, name in settings.dialects.items()]
        self._known: dict[str, Marks] = {}
        self.filters = _without_covered([base, f"{base}/+", *settings.dialects])

    def dialect(self, topic: str) -> str:
        """The first rule that matches; what no rule names speaks as the adapters do."""
        levels = topic.split("/")
        found = (name for pattern, name in self._rules if _matches(pattern, levels))
        return next(found, dialects.ADAPTER_JSON)

    def marks(self, topic: str) -> Marks:
        """Of a message on this topic."""
        found = self._known.get(topic)
        if found is not None:
            return found
        found = self._look(topic)
        if len(topic) <= LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[topic] = found
        return found

    def _look(self, topic: str) -> Marks:
        name = self.dialect(topic)
        key = "" if name == dialects.ADAPTER_JSON else DIALECTS[name].key_of(topic)
        headers: Headers = [(topics.HEADER_DIALECT, name.encode()), (topics.HEADER_TOPIC, topic.encode())]
        return Marks(name, headers, key.encode())


def _matches(pattern: list[str], levels: list[str]) -> bool:
    """Whether a filter names the topic; of topics that begin with $ none is that a wildcard finds."""
    if levels[0].startswith("$") and pattern[0] in ("+", "#"):
        return False
    return _covers(pattern, levels)


def _covers(pattern: list[str], other: list[str]) -> bool:
    """Whether a filter names every topic that the other one (a filter, or a topic) names."""
    for place, level in enumerate(pattern):
        if level == "#":
            return True
        if place >= len(other) or other[place] == "#" or level not in ("+", other[place]):
            return False
    return len(pattern) == len(other)


def _without_covered(filters: list[str]) -> list[str]:
    """Each topic asked for once: a broker may send a message again for every filter that names it."""
    split = {pattern: pattern.split("/") for pattern in filters}
    return [
        pattern
        for pattern, levels in split.items()
        if not any(other != pattern and _covers(split[other], levels) for other in split)
    ]
