"""Asks Kafka for offsets: those that a group has committed, and those of the ends or of a time; blocks."""

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from strom.errors import StromError
from strom.ingest.gateway.answers import Problem, kafka_away
from strom.ingest.gateway.places import Place
from strom.ingest.gateway.reading import problem_of
from strom.settings import Settings
from strom.streams.admin import admin_client
from strom.streams.client import AwayError, error_of
from strom.streams.offsets import Partition, end_offsets, first_offsets, offsets_at

EARLIEST, LATEST = "earliest", "latest"
_ANSWER_SECONDS = 5.0
_CHECK_SECONDS = 3.0  # before a fetch, for each of two answers


class Offsets:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AdminClient = admin_client(settings)

    def committed(self, group: str, places: list[Place]) -> dict[Partition, int | None]:
        """None where the group has committed nothing."""
        wanted = [TopicPartition(each.topic, each.partition) for each in places]
        try:
            futures = self._client.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, wanted)], request_timeout=_ANSWER_SECONDS
            )
            answered = futures[group].result().topic_partitions
        except KafkaException as error:
            raise problem_of(error_of(error)) from None
        return {(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in answered}

    def require_within(self, places: list[Place]) -> None:
        """Problem 400 for a place before the first record of its partition or behind its end.

        A consumer must not be sent there: the client library handles Kafka's no late, also when the consumer has been
        assigned another place (which it then never reads) or is being closed (which then never ends).
        """
        wanted: list[Partition] = [(each.topic, each.partition) for each in places]
        known = (self._settings, self._client, wanted, _CHECK_SECONDS)
        try:
            first, end = first_offsets(*known), end_offsets(*known)
        except AwayError:
            raise kafka_away() from None
        except StromError:
            return  # the consumer will say why
        for place, at in zip(places, wanted, strict=True):
            if not first[at] <= place.offset <= end[at]:
                raise Problem(
                    400,
                    f"{place.said}There is no record at that place ({place.topic}/{place.partition} can be "
                    f"fetched from {first[at]} to {end[at]}); /offsets tells which there are.",
                )

    def at(self, moment: str | int, places: list[Place]) -> dict[Partition, int]:
        """At the beginning, behind the end, or of the first record at or after a time; behind the end if none is."""
        wanted: list[Partition] = [(each.topic, each.partition) for each in places]
        known = (self._settings, self._client, wanted)
        try:
            if moment == EARLIEST:
                return first_offsets(*known, _ANSWER_SECONDS)
            ends = end_offsets(*known, _ANSWER_SECONDS)
            if isinstance(moment, str):
                return ends
            found = offsets_at(*known, moment, _ANSWER_SECONDS)
            return {each: offset if offset >= 0 else ends[each] for each, offset in found.items()}
        except StromError:
            raise kafka_away() from None
