"""Records that went to Kafka together, and what Kafka has said about them.

Kafka answers for every record, tens of thousands of times a second, so an answer is only counted; what follows from
the answers is worked out once for the whole parcel. It sends nothing itself.
"""

from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from strom.streams.chunks import split
from strom.streams.topics import HEADER_PART

Headers = list[tuple[str, str | bytes | None]]
Record = tuple[bytes, bytes, Headers]  # value, key, headers
Failure = tuple[Record, KafkaError]  # what Kafka does not have, and why


def in_parts(record: Record, limit: int) -> list[Record]:
    """The same as records of at most so many bytes; itself if it is no larger."""
    value, key, headers = record
    if len(value) <= limit:
        return [record]
    return [(piece, key, [*headers, (HEADER_PART, part.header)]) for part, piece in split(value, limit)]


class Receipt:
    """Ids of messages that arrived together: they appear in `confirmed` when Kafka has every one of them."""

    __slots__ = ("_confirmed", "_ids", "_left")

    def __init__(self, ids: list[int], confirmed: list[int], records: int) -> None:
        self._ids = ids
        self._confirmed = confirmed
        self._left = records
        self.settle(0)

    def expect(self, records: int) -> None:
        """So many more than was known at first."""
        self._left += records

    def settle(self, records: int) -> None:
        self._left -= records
        if not self._left:
            self._confirmed.extend(self._ids)


class Parcel:
    """`on_answered` is called once, when there is an answer for each record."""

    __slots__ = ("_on_answered", "_refused", "alone", "number", "open", "receipt", "records")

    def __init__(
        self,
        number: int,
        records: list[Record],
        receipt: Receipt,
        on_answered: Callable[["Parcel"], None],
        *,
        alone: bool = False,
    ) -> None:
        self.number = number  # in the order of arrival
        self.records = records
        self.receipt = receipt
        self.alone = alone  # each record in a batch of its own: together they were too large
        self.open = 0  # records that were handed over and have no answer yet
        self._refused: dict[tuple[bytes, bytes], KafkaError] = {}
        self._on_answered = on_answered

    def answer(self, error: KafkaError | None, message: Message) -> None:
        """Kafka's answer for one of the records."""
        if error is not None:
            self._refused[message.value() or b"", message.key() or b""] = error
        self.open -= 1
        if not self.open:
            self._on_answered(self)

    @property
    def failures(self) -> list[Failure]:
        """The records that Kafka does not have.

        An answer names value and key only. Of two records alike, one of which failed, both count as failed: better
        twice than never.
        """
        refused = self._refused
        if not refused:
            return []
        return [(record, refused[record[:2]]) for record in self.records if record[:2] in refused]

    @property
    def size(self) -> int:
        return sum([len(record[0]) for record in self.records])
