"""Records to be written, as they came in one request: one by one, or many that are alike. It knows no HTTP and no Kafka."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

ANY_PARTITION = -1
NO_TIME = 0  # the time of sending

RecordHeaders = list[tuple[str, str | bytes | None]]


class Message(NamedTuple):
    """One record to be written."""

    topic: str
    value: bytes
    key: bytes | None = None
    partition: int = ANY_PARTITION
    timestamp: int = NO_TIME
    headers: RecordHeaders | None = None

    @property
    def size(self) -> int:
        headers = sum(len(name) + len(value or b"") + 10 for name, value in self.headers or ())
        return len(self.value) + len(self.key or b"") + headers


@dataclass(frozen=True, slots=True)
class Alike:
    """Messages for one topic that have a key and nothing else beside their value, as most arrays do.

    They are held without an object for each: a thousand of them are one request.
    """

    topic: str
    values: list[str]
    keys: list[bytes]  # by which their reports are told apart
    headers: RecordHeaders | None = None  # the same for all

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Message:
        return Message(self.topic, self.values[index].encode(), self.keys[index], headers=self.headers)

    def __iter__(self) -> Iterator[Message]:
        return map(self.__getitem__, range(len(self)))


Messages = list[Message] | Alike
