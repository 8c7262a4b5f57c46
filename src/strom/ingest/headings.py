"""Which headers a raw record gets, and which key where the payload has no say: by the topic it came on and the moment it was read.

Thousands of messages of one read share topic and moment: their headers are made once. It looks at no payload.
"""

from strom.ingest.dialect_rules import DialectRules
from strom.ingest.parcel import Headers
from strom.streams import topics

SOURCE = "mqtt"


class Headings(dict[str, tuple[Headers, bytes]]):
    """`headings[topic]` are the headers of whatever came on it at the present moment, and its key if the topic tells it."""

    def __init__(self, rules: DialectRules) -> None:
        self._rules = rules
        self._common: Headers = []

    def at(self, received_ms: int) -> None:
        """From now on the moment is this one."""
        received = b"%d" % received_ms
        self._common = [(topics.HEADER_SOURCE, SOURCE.encode()), (topics.HEADER_RECEIVED, received)]
        self.clear()

    def __missing__(self, topic: str) -> tuple[Headers, bytes]:
        marks = self._rules.marks(topic)
        found = self[topic] = ([*self._common, *marks.headers], marks.key)
        return found


def published(properties: list[tuple[str, str]]) -> Headers:
    """When the sender published the message, where it tells."""
    for name, value in properties:
        if name == topics.HEADER_PUBLISHED:
            return [(name, value.encode())]
    return []
