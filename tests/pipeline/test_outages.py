"""A server is away while the pipeline runs: the process goes on, and ends when it is told to, also during a back-off."""

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.pipeline.passing import message
from tests.running import running
from tests.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
SECONDS = 120.0


def send(settings: Settings, name: str) -> None:
    producer = open_producer(settings, "strom-test")
    producer.produce(topics.RAW, message(name), b"haus")
    assert producer.flush(SECONDS) == 0


def test_a_query_whose_start_fails_is_tried_again_until_postgres_is_back_or_the_pipeline_is_stopped(
    own_settings: Settings,
) -> None:
    with Stack(own_settings, ["kafka", "postgres"]) as stack:
        settings = stack.settings
        with running(settings, "pipeline", "pipeline", "run", "--only", "normalise,archive") as pipeline:
            stack.halt("postgres")
            send(settings, "first")
            pipeline.await_log("the query archive could not be started (Postgres at")
            stack.resume("postgres")
            stack.await_ready("postgres")
            until(lambda: taken_in(settings.postgres_url), "the reading is taken in", SECONDS)
            pipeline.await_log("the query archive is started again")
            failures = pipeline.log.count("the query archive could not be started")

            stack.halt("postgres")
            send(settings, "second")
            until(
                lambda: pipeline.log.count("the query archive could not be started") > failures,
                "the start fails again",
                SECONDS,
            )
            assert pipeline.stop() == 0, pipeline.log
        assert "the pipeline stops" in pipeline.log
