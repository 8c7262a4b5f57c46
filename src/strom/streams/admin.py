"""Creates topics: those of the contract, which every part may rely on, and any that a person asks for.

It never changes or deletes a topic that exists.
"""

import time
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from strom.errors import StromError
from strom.settings import SAFE_COPIES, Settings
from strom.streams.client import ANSWER_SECONDS, as_strom_error, common_config, error_of
from strom.streams.topics import CONTRACT, MAX_MESSAGE_BYTES

_MS_PER_HOUR = 3_600_000
_VISIBLE_PAUSE = 0.05


def admin_client(settings: Settings) -> AdminClient:
    return AdminClient(common_config(settings, "strom-admin"))


def topic_names(
    settings: Settings, client: AdminClient | None = None, timeout: float = ANSWER_SECONDS
) -> set[str]:
    """Every topic that the broker has and that can be written to at this moment."""
    client = client or admin_client(settings)
    try:
        topics = client.list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise as_strom_error(settings, "list its topics", error) from None
    return {
        name
        for name, topic in topics.items()
        if topic.error is None and all(partition.leader >= 0 for partition in topic.partitions.values())
    }


def await_brokers(settings: Settings, count: int, timeout: float = ANSWER_SECONDS) -> None:
    """Until so many brokers have joined the cluster: a topic with a copy on each cannot be made before."""
    client = admin_client(settings)
    deadline = time.monotonic() + timeout
    while (there := len(broker_ids(settings, client, timeout))) < count:
        if time.monotonic() > deadline:
            raise StromError(
                f"Only {there} of {count} Kafka brokers have joined; look at the logs of the others."
            )
        time.sleep(_VISIBLE_PAUSE)


def broker_ids(
    settings: Settings, client: AdminClient | None = None, timeout: float = ANSWER_SECONDS
) -> set[int]:
    """The brokers that take part in the cluster at this moment."""
    try:
        return set((client or admin_client(settings)).list_topics(timeout=timeout).brokers)
    except KafkaException as error:
        raise as_strom_error(settings, "list its brokers", error) from None


def ensure_contract_topics(settings: Settings, timeout: float = ANSWER_SECONDS) -> list[str]:
    """Create the contract's missing topics and wait until they can be used; returns the new ones."""
    client = admin_client(settings)
    existing = topic_names(settings, client, timeout)
    missing = [topic for topic in CONTRACT if topic.name not in existing]
    if missing and settings.kafka.bootstrap is None:
        await_brokers(settings, settings.kafka.brokers)
    created = create_topics(
        settings,
        [
            new_topic(
                topic.name,
                partitions=topic.partitions or settings.kafka.partitions,
                replication=settings.kafka_replication,
                compacted=topic.compacted,
                retention_hours=settings.kafka.retention_hours,
                max_bytes=MAX_MESSAGE_BYTES + topic.more_bytes,
            )
            for topic in missing
        ],
        client=client,
        timeout=timeout,
    )
    _await_visible(settings, client, {topic.name for topic in CONTRACT}, timeout)
    return created


def new_topic(
    name: str,
    *,
    partitions: int,
    replication: int,
    compacted: bool,
    retention_hours: int,
    max_bytes: int = MAX_MESSAGE_BYTES,
) -> NewTopic:
    """A topic as Strom sets it up: compacted, or kept for some hours; with room for the largest payload.

    With three copies or more, nothing is confirmed before two brokers have it, and one may be lost without a pause.
    """
    config = {"max.message.bytes": str(max_bytes)}
    if replication >= SAFE_COPIES:
        config["min.insync.replicas"] = str(SAFE_COPIES - 1)
    if compacted:
        config["cleanup.policy"] = "compact"
    else:
        config |= {"cleanup.policy": "delete", "retention.ms": str(retention_hours * _MS_PER_HOUR)}
    return NewTopic(name, num_partitions=partitions, replication_factor=replication, config=config)


def create_topics(
    settings: Settings,
    topics: list[NewTopic],
    *,
    client: AdminClient | None = None,
    timeout: float = ANSWER_SECONDS,
) -> list[str]:
    """Create these topics; one that exists, or that someone else just made, is left as it is."""
    if not topics:
        return []
    client = client or admin_client(settings)
    futures: dict[str, Future[None]] = client.create_topics(
        topics, operation_timeout=timeout, request_timeout=timeout
    )
    return [name for name, future in futures.items() if _created(settings, name, future)]


def _created(settings: Settings, name: str, future: "Future[None]") -> bool:
    try:
        future.result()
    except KafkaException as error:
        if error_of(error).code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise as_strom_error(settings, f"create the topic {name}", error) from None
    return True


def _await_visible(settings: Settings, client: AdminClient, names: set[str], timeout: float) -> None:
    # A broker learns of a new topic a moment after the controller has made it.
    deadline = time.monotonic() + timeout
    while missing := names - topic_names(settings, client, timeout):
        if time.monotonic() > deadline:
            raise StromError(
                f"Kafka created {', '.join(sorted(missing))} without a leader; look at the broker's log."
            )
        time.sleep(_VISIBLE_PAUSE)
