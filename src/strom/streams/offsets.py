"""Where partitions begin and end, asked for many at once, and which topics there are to ask about."""

import difflib
import re
import time
from collections.abc import Iterable
from typing import Any, Protocol

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from strom.errors import StromError
from strom.settings import Settings
from strom.streams.client import ANSWER_SECONDS, as_strom_error, error_of, passes

Partition = tuple[str, int]  # topic and number
_RETRY_PAUSE = 0.1
INTERNAL = "__"  # how the names of Kafka's own topics begin


class HasMetadata(Protocol):
    """Any client of Kafka: producer, consumer or admin client."""

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any: ...


def all_topics(settings: Settings, client: HasMetadata, timeout: float = ANSWER_SECONDS) -> dict[str, int]:
    """Every topic with its number of partitions."""
    try:
        found = client.list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise as_strom_error(settings, "list its topics", error) from None
    return {name: len(topic.partitions) for name, topic in sorted(found.items()) if topic.error is None}


def find_topics(
    settings: Settings,
    client: HasMetadata,
    names: Iterable[str],
    pattern: str | None = None,
    *,
    may_come: bool = False,
    timeout: float = ANSWER_SECONDS,
) -> dict[str, int]:
    """The named topics and those that the pattern matches as a whole, each with its number of partitions.

    A pattern must match one at least, unless those that it means `may_come` later.
    """
    existing = all_topics(settings, client, timeout)
    wanted = list(names)
    for name in wanted:
        if name not in existing:
            raise _unknown(settings, name, existing)
    if pattern is not None:
        found = matching(pattern, existing)
        if not found and not may_come:
            raise StromError(
                f"No topic at {settings.kafka_bootstrap} matches {pattern!r}; `strom topics list` shows them."
            )
        wanted += found
    return {name: existing[name] for name in dict.fromkeys(wanted)}


def first_offsets(
    settings: Settings,
    client: AdminClient,
    partitions: Iterable[Partition],
    timeout: float = ANSWER_SECONDS,
) -> dict[Partition, int]:
    return _offsets(settings, client, partitions, OffsetSpec.earliest(), timeout)  # type: ignore[no-untyped-call]


def end_offsets(
    settings: Settings,
    client: AdminClient,
    partitions: Iterable[Partition],
    timeout: float = ANSWER_SECONDS,
) -> dict[Partition, int]:
    """One after the last record of each partition."""
    return _offsets(settings, client, partitions, OffsetSpec.latest(), timeout)  # type: ignore[no-untyped-call]


def offsets_at(
    settings: Settings,
    client: AdminClient,
    partitions: Iterable[Partition],
    at_ms: int,
    timeout: float = ANSWER_SECONDS,
) -> dict[Partition, int]:
    """The first record at or after this time; -1 where there is none."""
    return _offsets(settings, client, partitions, OffsetSpec.for_timestamp(at_ms), timeout)


def _offsets(
    settings: Settings,
    client: AdminClient,
    partitions: Iterable[Partition],
    spec: OffsetSpec,
    timeout: float,
) -> dict[Partition, int]:
    asked = {TopicPartition(topic, number): spec for topic, number in partitions}
    if not asked:
        return {}
    deadline = time.monotonic() + timeout
    while True:
        try:
            futures = client.list_offsets(asked, request_timeout=timeout)
            return {(each.topic, each.partition): future.result().offset for each, future in futures.items()}
        except KafkaException as error:
            if not passes(error_of(error)) or time.monotonic() > deadline:
                raise as_strom_error(settings, "tell its offsets", error) from None
        time.sleep(_RETRY_PAUSE)


def partitions_of(topics: dict[str, int]) -> list[Partition]:
    return [(name, number) for name, count in topics.items() for number in range(count)]


def matching(pattern: str, existing: Iterable[str]) -> list[str]:
    """Those whose whole name matches; never Kafka's own."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise StromError(f"--pattern {pattern!r} is not a regular expression: {error}; correct it.") from None
    return [name for name in existing if wanted.fullmatch(name) and not name.startswith(INTERNAL)]


def _unknown(settings: Settings, name: str, existing: dict[str, int]) -> StromError:
    close = difflib.get_close_matches(name, existing, n=1)
    hint = f"did you mean {close[0]}?" if close else "`strom topics list` shows those there are."
    return StromError(f"There is no topic {name} at {settings.kafka_bootstrap}; {hint}")
