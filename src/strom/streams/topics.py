"""The topics of the contract: their names, headers and how each keeps its records."""

from dataclasses import dataclass

RAW = "sma-kafka"
READINGS = "readings"
SIDE = "sma-kafka.side"
DEAD_LETTER = "sma-kafka.dead-letter"
REDRIVEN = "sma-kafka.redriven"
LOAD_PROFILE = "load-profile"
ALERTS = "alerts"
METERS = "meters"

HEADER_SOURCE = "strom-source"  # mqtt, rest, modbus, http, or:
SOURCE_KAFKA = (
    "kafka"  # written straight into the raw topic; also what is said of a record that does not tell
)
HEADER_DIALECT = "strom-dialect"  # a name of `devices/registry.py`
HEADER_PART = "strom-part"  # id/index/count/digest of one part of a large message, see `chunks.py`
HEADER_RECEIVED = "strom-received"  # epoch ms when Strom took the message
HEADER_TOPIC = "strom-topic"  # the MQTT topic it came on
HEADER_PUBLISHED = "strom-published"  # epoch ms when the sender published it, where it tells
HEADER_REASON = "strom-reason"
HEADER_DETAIL = "strom-detail"
HEADER_ORIGIN = "strom-origin"  # topic/partition/offset of the raw record; the topic may be a way, see below
HEADER_REDRIVEN = "strom-redriven"  # partition/offset of the dead letter that was sent in anew

# A reading that did not come straight from `normalise` tells by which way it came: `sma-kafka:side/3/17`. Each way has
# its own order, and hence its own marks of what was taken in. No topic has a colon in its name.
WAY_SIDE = f"{RAW}:side"  # decoded by the side query
WAY_PARTS = f"{RAW}:parts"  # put together from parts; the place is that of the part that came last

MAX_MESSAGE_BYTES = 2 * 1024 * 1024  # room for 1 MB of payload and its headers


@dataclass(frozen=True)
class Topic:
    name: str
    compacted: bool
    meaning: str
    partitions: int | None = None  # as the settings say, unless it must be this many
    more_bytes: int = 0  # beyond MAX_MESSAGE_BYTES


_MORE_HEADERS = 32 * 1024  # what fits the raw topic must fit where it is passed on to

CONTRACT = (
    Topic(RAW, False, "what came, byte for byte; key = adapter name"),
    Topic(READINGS, False, "one JSON object per reading; key = meter"),
    Topic(
        SIDE,
        False,
        "raw records that native columns cannot read, as they came; key = adapter name",
        more_bytes=_MORE_HEADERS,
    ),
    Topic(
        DEAD_LETTER,
        False,
        "what could not be read, as it came, with the reason in its headers",
        more_bytes=2 * _MORE_HEADERS,
    ),
    # One partition: who holds it may redrive.
    Topic(
        REDRIVEN, False, "which dead letters were sent in anew; key = partition/offset of the dead letter", 1
    ),
    Topic(LOAD_PROFILE, True, "quarter-hours; key = meter and slot start"),
    Topic(ALERTS, False, "alerts as they open and close; key = meter"),
    Topic(METERS, True, "the latest state of each meter; key = meter"),
)
