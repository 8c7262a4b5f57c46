"""The side query in the running pipeline: killed while a large message lacks a part, and without Python on the executors."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from strom.settings import PartsSettings, PostgresSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.chunks import split
from strom.streams.producer import open_producer
from strom.streams.record import Record
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.devices.samples import payload_of
from tests.pipeline.passing import message
from tests.running import running
from tests.streams.writing import SECONDS
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
NOWHERE = PostgresSettings(url="postgresql://strom@127.0.0.1:1/strom")
WORDS = ("pipeline", "run", "--only", "normalise")

Sent = tuple[bytes, str]  # bytes and header of a part


def parts_of(name: str) -> list[Sent]:
    value = message(name, filler="x" * 1000)
    return [(piece, part.header.decode()) for part, piece in split(value, 400)]


def send(settings: Settings, parts: Sequence[Sent]) -> None:
    """Without a word of when they arrived, as any program may."""
    producer = open_producer(settings, "strom-test")
    for value, header in parts:
        producer.produce(topics.RAW, value, b"haus", headers=[(topics.HEADER_PART, header)])
    assert producer.flush(SECONDS) == 0


def send_message(settings: Settings, value: bytes, **headers: str) -> None:
    producer = open_producer(settings, "strom-test")
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    producer.produce(topics.RAW, value, b"haus", headers=list(told.items()))
    assert producer.flush(SECONDS) == 0


def readings(settings: Settings) -> list[tuple[bytes, str]]:
    """Meter and way of each."""
    found = records(settings, topics.READINGS)
    return sorted(
        (each.key or b"", (each.header(topics.HEADER_ORIGIN) or "").split("/")[0]) for each in found
    )


def records(settings: Settings, topic: str) -> list[Record]:
    with Records(settings, [topic], start=EARLIEST, until_end=True) as found:
        return list(found)


def test_a_message_whose_last_part_comes_after_a_kill_is_one_reading_and_what_never_comes_a_dead_letter(
    own_settings: Settings,
) -> None:
    settings = own_settings.model_copy(update={"postgres": NOWHERE})
    states = Path(settings.checkpoint_root) / "side" / "parts"
    first, second, missing = parts_of("first"), parts_of("second"), parts_of("missing")
    with Stack(own_settings, ["kafka"]):
        with running(settings, "pipeline", *WORDS) as pipeline:
            send(settings, [*first[:-1], *missing[1:]])
            until(lambda: list(states.glob("*-0")), "the parts are noted", SECONDS)
            pipeline.kill()
        with running(settings, "pipeline", *WORDS):
            send(settings, [*second, *first[-1:]])
            until(lambda: len(readings(settings)) == 2, "both readings", SECONDS)
        hasty = settings.model_copy(update={"parts": PartsSettings(wait_seconds=1)})
        with running(hasty, "pipeline", *WORDS):
            until(lambda: records(settings, topics.DEAD_LETTER), "the dead letters", 3 * SECONDS)
        letters = records(settings, topics.DEAD_LETTER)
        assert readings(settings) == [(b"first", topics.WAY_PARTS), (b"second", topics.WAY_PARTS)]
    assert [(letter.value, letter.header(topics.HEADER_REASON)) for letter in letters] == [
        (value, "bad-chunk") for value, _ in missing[1:]
    ]


def test_without_python_on_the_executors_other_dialects_wait_and_everything_else_goes_on(
    own_settings: Settings,
) -> None:
    settings = own_settings.model_copy(update={"postgres": NOWHERE})
    no_python = settings.spark.model_copy(update={"python": "/nowhere/python"})
    telegram = payload_of("dsmr_p1", "v5.txt")
    with Stack(own_settings, ["kafka"]):
        with running(settings.model_copy(update={"spark": no_python}), "pipeline", *WORDS) as pipeline:
            send(settings, parts_of("large"))
            until(lambda: readings(settings) == [(b"large", topics.WAY_PARTS)], "the large message", SECONDS)
            send_message(settings, telegram, strom_dialect="dsmr_p1", strom_topic="p1/haus-7/telegram")
            pipeline.await_log("the query side ended")
            send_message(settings, message("small"))
            until(lambda: (b"small", topics.RAW) in readings(settings), "the small message", SECONDS)
        with running(settings, "pipeline", *WORDS):
            until(lambda: topics.WAY_SIDE in dict(readings(settings)).values(), "the telegram", SECONDS)
        assert records(settings, topics.DEAD_LETTER) == []
