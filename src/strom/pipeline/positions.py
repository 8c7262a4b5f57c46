"""How far the running queries are, and where the topics end; offsets of one topic are by partition, each the next one to come."""

import json
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient
from pyspark.sql.streaming.query import StreamingQuery

from strom.settings import Settings
from strom.streams.offsets import Partition, end_offsets, find_topics, partitions_of

Offsets = dict[int, int]  # partition → offset

_PATIENCE = 3.0  # for an answer of Kafka: the next question comes soon


@dataclass(frozen=True, slots=True)
class Queries:
    """The running queries; None where the stage does not run."""

    raw: StreamingQuery | None
    side: StreamingQuery | None
    store: StreamingQuery | None


def ends_of(settings: Settings, client: AdminClient, topic: str) -> dict[Partition, int]:
    """One after the last record or transaction marker of each partition of the topic, or StromError soon."""
    places = partitions_of(find_topics(settings, client, [topic], timeout=_PATIENCE))
    return end_offsets(settings, client, places, _PATIENCE)


def position(query: StreamingQuery, topic: str) -> Offsets:
    """How far the query says that it is; nothing before its first batch has ended."""
    progress = query.lastProgress
    if progress is None:
        return {}
    end = progress["sources"][0]["endOffset"]
    offsets = json.loads(end) if isinstance(end, str) else end
    return {int(number): int(offset) for number, offset in (offsets or {}).get(topic, {}).items()}


def reached(found: Offsets, ends: Offsets) -> bool:
    return bool(ends) and all(found.get(number, 0) >= end for number, end in ends.items())
