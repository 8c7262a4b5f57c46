"""Dead letters in any number hold up nothing: the pipeline ends when it is told to."""

from threading import Event, Thread

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.chunks import split
from strom.streams.producer import open_producer
from tests.pipeline.passing import message
from tests.running import running
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
SECONDS = 60.0
TOLD = "were not written by normalise"


def test_a_pipeline_with_a_backlog_ends_when_it_is_told_to_while_dead_letters_keep_coming(
    own_settings: Settings,
) -> None:
    """A large message that lacks a part keeps the backlog open."""
    enough, burying_began = Event(), Event()

    def bury(settings: Settings) -> None:
        producer = open_producer(settings, "strom-test")
        while not enough.wait(0.02):
            producer.produce(topics.DEAD_LETTER, b"x", headers=[(topics.HEADER_ORIGIN, "elsewhere/0/1")])
            producer.poll(0)
            burying_began.set()
        producer.flush(SECONDS)

    with Stack(own_settings, ["kafka", "postgres"]) as stack:
        settings = stack.settings
        part, piece = split(message("large", filler="x" * 1000), 400)[0]
        producer = open_producer(settings, "strom-test")
        producer.produce(topics.RAW, piece, b"haus", headers=[(topics.HEADER_PART, part.header)])
        assert producer.flush(SECONDS) == 0
        burying = Thread(target=bury, args=(settings,), daemon=True)
        burying.start()
        try:
            assert burying_began.wait(SECONDS)
            with running(settings, "pipeline", "pipeline", "run", "--only", "normalise,archive") as pipeline:
                # Somebody else's record is told in the same round as the dead letters are read.
                producer.produce(topics.READINGS, b"foreign")
                assert producer.flush(SECONDS) == 0
                until(lambda: TOLD in pipeline.log, "a round")
                assert pipeline.stop() == 0, pipeline.log
            assert "the pipeline stops" in pipeline.log
        finally:
            enough.set()
            burying.join()
