"""Whatever lies in a topic, `strom tail`, `strom topics` and `strom dead-letters` go on and say what they passed over."""

import json
from collections.abc import Iterator

import pytest

from strom.cli.record_view import as_json
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.dead_letters import DeadLetter
from strom.streams.producer import open_producer
from strom.streams.record import Record
from tests.conftest import settings_in
from tests.hostile import hostile, put
from tests.streams.letters import NOON_MS, bury, listed, raw
from tests.streams.writing import SECONDS, strom

NAMES = [topic.name for topic in topics.CONTRACT]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A Kafka of its own, with hostile records in each topic."""
    with Stack(settings_in(tmp_path_factory.mktemp("foreign") / "home"), ["kafka"]) as stack:
        for name in NAMES:
            put(stack.settings, name, hostile(name))
        yield stack.settings


@pytest.mark.stack
@pytest.mark.parametrize("name", NAMES)
def test_tail_shows_every_record(settings: Settings, name: str) -> None:
    count = len(hostile(name)) + 1
    as_lines = strom(settings, "tail", name, "--until-end", "--json", "--raw-parts")
    assert (as_lines.returncode, len(as_lines.stdout.splitlines())) == (0, count), as_lines.stderr
    assert all(json.loads(line)["topic"] == name for line in as_lines.stdout.splitlines())
    for_eyes = strom(settings, "tail", name, "--until-end")
    assert (for_eyes.returncode, "Traceback" in for_eyes.stderr) == (0, False), for_eyes.stderr
    assert "\x1b" not in for_eyes.stdout


@pytest.mark.stack
def test_topics_are_listed_and_described(settings: Settings) -> None:
    assert strom(settings, "topics", "list").returncode == 0
    assert strom(settings, "topics", "describe", *NAMES).returncode == 0


@pytest.mark.stack
def test_dead_letters_are_listed_shown_and_sent_in_anew_each_once(settings: Settings) -> None:
    for number in (1, 2):
        bury(settings, number, key=b"good", value=b'{"n":%d}' % number, reason="bad-telegram")
    mine = ("--reason", "bad-telegram")
    assert [letter["meter"] for letter in listed(settings, *mine)] == ["good", "good"]
    assert len(listed(settings)) > len(NAMES)
    for words in (("list",), ("show", "--limit", "10000"), ("redrive", "--dry-run")):
        done = strom(settings, "dead-letters", *words)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    first = strom(settings, "dead-letters", "redrive", *mine)
    assert first.stdout == "2 sent in anew.\n", first.stderr
    assert f"records in {topics.REDRIVEN} were not written by a redrive and are passed over" in first.stderr
    again = strom(settings, "dead-letters", "redrive", *mine)
    assert again.stdout == "0 sent in anew; 2 had been before.\n", again.stderr
    assert [record.value for record in raw(settings) if record.key == b"good"] == [b'{"n":1}', b'{"n":2}']
    everything = strom(settings, "dead-letters", "redrive")
    assert (everything.returncode, "Traceback" in everything.stderr) == (0, False), everything.stderr


@pytest.mark.stack
def test_a_dead_letter_that_is_too_large_is_passed_over_and_the_others_are_sent(settings: Settings) -> None:
    """The topic of dead letters takes larger records than the raw topic."""
    huge = topics.MAX_MESSAGE_BYTES + 10_000
    producer = open_producer(settings, "strom-test", **{"message.max.bytes": 2 * huge})
    headers = [(topics.HEADER_REASON, "bad-telegram"), (topics.HEADER_ORIGIN, "sma-kafka/0/77")]
    producer.produce(topics.DEAD_LETTER, b"x" * huge, b"large", 0, headers=[*headers])
    assert producer.flush(SECONDS) == 0
    bury(settings, 78, key=b"behind", reason="bad-telegram")
    done = strom(settings, "dead-letters", "redrive", "--meter", "large", "--meter", "behind")
    assert (done.returncode, done.stdout) == (0, "1 sent in anew.\n"), done.stderr
    assert "is too large to be sent in anew and is passed over" in done.stderr


@pytest.mark.parametrize("at_ms", [-(2**62), -1, 253_402_300_800_000, 2**62])
def test_a_time_that_no_calendar_has_is_shown_as_a_number(at_ms: int) -> None:
    """Brokers refuse such a time unless their settings allow it."""
    record = Record(topics.RAW, 0, 0, None, b"{}", (), at_ms)
    assert str(json.loads(as_json(record))["time"]).startswith(("1969-12-31T23:59:59.999Z", str(at_ms)))
    assert 0 <= DeadLetter(record).arrived_ms < 5_000_000_000_000


@pytest.mark.parametrize("told", ["", "x", "-1", "9" * 5_000, "253402300800000", "²", "1"])
def test_an_arrival_that_no_door_tells_is_the_one_that_kafka_tells(told: str) -> None:
    headers = ((topics.HEADER_RECEIVED, told.encode()),)
    assert DeadLetter(Record(topics.RAW, 0, 0, None, b"{}", headers, NOON_MS)).arrived_ms == NOON_MS
