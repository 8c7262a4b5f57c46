"""Dead letters that `normalise` has repeated: a message counts once, is shown once and sent in anew once."""

from collections.abc import Iterator

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.conftest import settings_in
from tests.streams.letters import NOON_MS, bury, listed, raw
from tests.streams.writing import SECONDS, strom

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A Kafka of its own: whoever redrives takes all there is."""
    with Stack(settings_in(tmp_path_factory.mktemp("repeated") / "home"), ["kafka"]) as stack:
        yield stack.settings


def redriven(settings: Settings, meter: str) -> str:
    return strom(settings, "dead-letters", "redrive", "--meter", meter).stdout


def sent(settings: Settings, meter: str) -> list[bytes | None]:
    return [record.value for record in raw(settings) if record.key == meter.encode()]


def test_a_repeated_letter_is_listed_counted_shown_and_sent_once(settings: Settings) -> None:
    bury(settings, 1, key=b"haus-1", partition=1)
    bury(settings, 1, key=b"haus-1", partition=0)
    assert [letter["place"] for letter in listed(settings, "--meter", "haus-1")] == ["1/0"]
    assert strom(settings, "dead-letters", "list").stdout.endswith("1 dead letters: 1 no-known-register\n")
    assert strom(settings, "dead-letters", "show").stdout.endswith("1 dead letters\n")
    assert strom(settings, "dead-letters", "redrive", "--dry-run").stdout.startswith("1 would be sent")
    assert redriven(settings, "haus-1") == "1 sent in anew.\n"
    assert sent(settings, "haus-1") == [b"{}"]


def test_a_letter_that_is_repeated_after_it_was_sent_is_not_sent_again(settings: Settings) -> None:
    bury(settings, 2, key=b"haus-2")
    assert redriven(settings, "haus-2") == "1 sent in anew.\n"
    bury(settings, 2, key=b"haus-2", partition=1, reason="not-json")  # a new release may see another reason
    assert redriven(settings, "haus-2") == "0 sent in anew; 1 had been before.\n"
    assert [letter["redriven"] for letter in listed(settings, "--meter", "haus-2")] == [True]
    assert sent(settings, "haus-2") == [b"{}"]


def test_what_was_noted_by_its_place_alone_counts_for_its_copies_too(settings: Settings) -> None:
    bury(settings, 3, key=b"haus-3", partition=1)
    [letter] = listed(settings, "--meter", "haus-3")
    producer = open_producer(settings, "strom-test")
    producer.produce(topics.REDRIVEN, b"{}", str(letter["place"]).encode())
    assert producer.flush(SECONDS) == 0
    bury(settings, 3, key=b"haus-3", partition=0)
    assert redriven(settings, "haus-3") == "0 sent in anew; 1 had been before.\n"
    assert sent(settings, "haus-3") == []


def test_letters_that_do_not_tell_their_origin_count_each(settings: Settings) -> None:
    for _ in range(2):
        bury(settings, None, key=b"haus-4")
    assert redriven(settings, "haus-4") == "2 sent in anew.\n"
    assert redriven(settings, "haus-4") == "0 sent in anew; 2 had been before.\n"


def test_an_origin_that_comes_again_in_a_raw_topic_made_anew_is_another_letter(settings: Settings) -> None:
    bury(settings, 5, key=b"haus-5", at_ms=NOON_MS)
    bury(settings, 5, key=b"haus-5", at_ms=NOON_MS + 60_000)
    assert len(listed(settings, "--meter", "haus-5")) == 2


def test_a_copy_is_shown_where_its_place_is_named(settings: Settings) -> None:
    bury(settings, 6, key=b"haus-6", partition=1)
    [letter] = listed(settings, "--meter", "haus-6")
    bury(settings, 6, key=b"haus-6", partition=1)
    place = f"1/{int(str(letter['place']).removeprefix('1/')) + 1}"
    assert f"sma-kafka.dead-letter/{place}" in strom(settings, "dead-letters", "show", place).stdout
