"""A live query's result as records of a topic: which topics it may go to, its key, its value, its checkpoint."""

import hashlib
import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.errors import StromError
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import create_topics, new_topic
from strom.streams.offsets import INTERNAL

KEY = "key"
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_TAKEN = frozenset(topic.name for topic in topics.CONTRACT)


def check_topic(name: str) -> None:
    """Results go into topics of their own: those of the contract have one writer, and rely on it."""
    if _NAME.fullmatch(name) is None or name in (".", ".."):
        raise StromError(
            f"{name!r} is no name for a topic; use letters, digits, dots, dashes and underscores."
        )
    if name in _TAKEN or name.startswith(INTERNAL):
        raise StromError(f"{name} is written by Strom itself; choose another topic for the result.")


def check_no_loop(name: str, read: set[str]) -> None:
    if name in read:
        raise StromError(f"The query reads {name} and would write into it without end; choose another topic.")


def ensure_topic(settings: Settings, name: str) -> None:
    """Made as Strom makes its own, if it is not there."""
    kafka = settings.kafka
    wanted = new_topic(
        name,
        partitions=kafka.partitions,
        replication=settings.kafka_replication,
        compacted=False,
        retention_hours=kafka.retention_hours,
    )
    create_topics(settings, [wanted])


def records_of(frame: DataFrame) -> DataFrame:
    """Key and value for Kafka's sink: the column `key`, and all others as a JSON object without nulls."""
    own = {name: f"`{name.replace('`', '``')}`" for name in frame.columns}
    values = [F.col(own[name]) for name in frame.columns if name.lower() != KEY]
    if not values:
        raise StromError("The query gives nothing but a key; select what the records should tell, too.")
    keys = [F.col(own[name]).cast("string") for name in frame.columns if name.lower() == KEY]
    key = keys[0] if keys else F.lit(None).cast("string")
    return frame.select(key.alias("key"), F.to_json(F.struct(*values)).alias("value"))


def checkpoint_of(settings: Settings, name: str, *text: str) -> str:
    """A changed text is another query: its state would not fit."""
    digest = hashlib.sha256("\0".join(text).encode()).hexdigest()[:12]
    return f"{settings.checkpoint_root}/sql/{re.sub(r'[^a-zA-Z0-9._-]', '_', name)}-{digest}"


def to_topic(settings: Settings, frame: DataFrame, topic: str) -> DataStreamWriter:
    return (
        records_of(frame)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("topic", topic)
        .option("kafka.max.request.size", str(2 * topics.MAX_MESSAGE_BYTES))
        .option("kafka.compression.type", "lz4")
        .option("kafka.acks", "all")
        .option("kafka.enable.idempotence", "true")
    )
