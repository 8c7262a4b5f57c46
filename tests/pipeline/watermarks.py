"""Records as the doors and the stages write them, for tests of the arrival watermark."""

from strom.pipeline.arrival_watermark import ArrivalWatermark
from strom.pipeline.positions import Queries
from strom.settings import Settings
from strom.streams import topics
from strom.streams.producer import open_producer

NOTHING_RUNS = Queries(None, None, None)


def put(settings: Settings, topic: str, partition: int, *origins: str) -> None:
    producer = open_producer(settings, "strom-test")
    for origin in origins:
        producer.produce(topic, b"x", partition=partition, headers=[(topics.HEADER_ORIGIN, origin)])
    assert producer.flush(60) == 0


def put_in_transaction(
    settings: Settings, topic: str, partition: int, *origins: str, commit: bool = True
) -> None:
    """Behind the records stands the marker of the end."""
    producer = open_producer(settings, "strom-test", **{"transactional.id": "strom-test"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for origin in origins:
        producer.produce(topic, b"x", partition=partition, headers=[(topics.HEADER_ORIGIN, origin)])
    assert producer.flush(60) == 0
    if commit:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)


def take_in(settings: Settings, partition: int, offset: int) -> None:
    """As a reading; where no stage takes readings in, the topic tells of it."""
    put(settings, topics.READINGS, partition, f"{topics.RAW}/{partition}/{offset}")


def reaches(watermark: ArrivalWatermark, now_ms: int, queries: Queries = NOTHING_RUNS) -> bool:
    """One probe more, and whether a probe that began at this time or later is through."""
    watermark.advance(now_ms, queries)
    return (watermark.readings_ms or 0) >= now_ms
