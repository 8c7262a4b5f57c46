"""What topics there are at a broker and how they are kept, for people who look."""

from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from strom.settings import Settings
from strom.streams.admin import admin_client
from strom.streams.client import ANSWER_SECONDS, as_strom_error
from strom.streams.offsets import INTERNAL, all_topics, end_offsets, find_topics, first_offsets, partitions_of
from strom.streams.topics import CONTRACT


@dataclass(frozen=True)
class PartitionState:
    number: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    first_offset: int
    end_offset: int

    @property
    def records(self) -> int:
        """At most this many: compaction and transactions leave holes."""
        return self.end_offset - self.first_offset


@dataclass(frozen=True)
class TopicState:
    name: str
    meaning: str
    partitions: tuple[PartitionState, ...]
    config: dict[str, str] = field(default_factory=dict)  # what differs from the broker's defaults

    @property
    def replication(self) -> int:
        return min((len(each.replicas) for each in self.partitions), default=0)

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)

    @property
    def compacted(self) -> bool:
        return "compact" in self.config.get("cleanup.policy", "")

    @property
    def retention_ms(self) -> int | None:
        """None where the broker's default holds."""
        return int(self.config["retention.ms"]) if "retention.ms" in self.config else None


def topic_states(settings: Settings, names: list[str] | None = None) -> list[TopicState]:
    """The named topics, or all but Kafka's own."""
    client = admin_client(settings)
    everything = {
        name: count for name, count in all_topics(settings, client).items() if not name.startswith(INTERNAL)
    }
    wanted = everything if names is None else find_topics(settings, client, names)
    places = partitions_of(wanted)
    first = first_offsets(settings, client, places)
    end = end_offsets(settings, client, places)
    configs = _configs(settings, client, list(wanted))
    meanings = {topic.name: topic.meaning for topic in CONTRACT}
    found = client.list_topics(timeout=ANSWER_SECONDS).topics
    return [
        TopicState(
            name=name,
            meaning=meanings.get(name, ""),
            partitions=tuple(
                PartitionState(
                    number=number,
                    leader=found[name].partitions[number].leader,
                    replicas=tuple(found[name].partitions[number].replicas),
                    in_sync=tuple(found[name].partitions[number].isrs),
                    first_offset=first[name, number],
                    end_offset=end[name, number],
                )
                for number in range(count)
            ),
            config=configs[name],
        )
        for name, count in wanted.items()
    ]


def _configs(settings: Settings, client: AdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    try:
        futures = client.describe_configs(resources, request_timeout=ANSWER_SECONDS)
        answers = {resource.name: future.result() for resource, future in futures.items()}
    except KafkaException as error:
        raise as_strom_error(settings, "describe its topics", error) from None
    return {
        name: {key: entry.value for key, entry in answer.items() if not entry.is_default and entry.value}
        for name, answer in answers.items()
    }
