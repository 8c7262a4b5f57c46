"""Which of the gateway's producers sends an array: batches grow only where there are others to wait for."""

import pytest

from strom.ingest.gateway.producers import Producers
from strom.settings import Settings


@pytest.fixture
def producers() -> Producers:
    settings = Settings()
    nowhere = settings.kafka.model_copy(update={"bootstrap": "127.0.0.1:1"})
    return Producers(settings.model_copy(update={"kafka": nowhere}))


def test_an_array_alone_does_not_wait_as_long_as_one_among_many(producers: Producers) -> None:
    few, some, many = (producers.for_arrays(others, 0.0) for others in (0, 3, 7))
    assert len({few, some, many, producers.alone()}) == 4
    assert producers.for_messages() is some


def test_for_a_moment_without_others_nothing_changes(producers: Producers) -> None:
    few, many = (producers.for_arrays(others, 0.0) for others in (0, 7))
    assert producers.for_arrays(0, 0.1) is many
    assert producers.for_arrays(6, 0.4) is many
    assert producers.for_arrays(0, 0.6) is few
    assert producers.for_arrays(1, 0.7) is few


def test_those_that_have_failed_for_good_are_not_used_again(producers: Producers) -> None:
    before = producers.for_arrays(0, 0.0), producers.for_messages(), producers.alone()
    producers.begin_anew()
    after = producers.for_arrays(0, 0.0), producers.for_messages(), producers.alone()
    assert not {*before} & {*after}
