"""Which headers a raw record gets: by the topic it came on and the moment it was read.

Thousands of messages of one read share topic and moment: their headers are made once. It looks at no payload.
"""

from strom.devices.adapter_json import DIALECT
from strom.ingest.parcel import Headers
from strom.streams import topics

SOURCE = "mqtt"
_MOST_TOPICS = 100_000  # remembered; a sender that never uses a topic twice must not fill the memory


class Headings(dict[str, Headers]):
    """`headings[topic]` are the headers of whatever came on it at the present moment."""

    def __init__(self) -> None:
        self._received: Headers = []
        self._by_topic: dict[str, Headers] = {}

    def at(self, received_ms: int) -> None:
        """From now on the moment is this one."""
        self._received = [(topics.HEADER_RECEIVED, b"%d" % received_ms)]
        self.clear()

    def __missing__(self, topic: str) -> Headers:
        fixed = self._by_topic.get(topic) or self._learn(topic)
        headers = self[topic] = fixed + self._received
        return headers

    def _learn(self, topic: str) -> Headers:
        """What holds for a topic at any moment."""
        if len(self._by_topic) >= _MOST_TOPICS:
            self._by_topic.clear()
        headers = self._by_topic[topic] = [
            (topics.HEADER_SOURCE, SOURCE.encode()),
            (topics.HEADER_DIALECT, dialect_of(topic).encode()),
            (topics.HEADER_TOPIC, topic.encode()),
        ]
        return headers


def dialect_of(topic: str) -> str:
    """The dialect that is spoken on a topic, by its name in the registry."""
    return DIALECT


def published(properties: list[tuple[str, str]]) -> Headers:
    """When the sender published the message, where it tells."""
    for name, value in properties:
        if name == topics.HEADER_PUBLISHED:
            return [(name, value.encode())]
    return []
