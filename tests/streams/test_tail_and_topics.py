"""`strom tail` and `strom topics` as people type them, with what they get when something is wrong."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from strom.settings import KafkaSettings, Settings
from tests.streams.writing import strom, topic_of, write

pytestmark = pytest.mark.stack

Unique = Callable[[str], str]


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


def test_tail_prints_one_json_object_a_line(stack: Settings, topic: str) -> None:
    write(stack, topic, b'{"name":"m"}', b"\xff\x00", at_ms=1_794_773_700_000)
    done = strom(stack, "tail", topic, "--until-end", "--json")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0
    assert first == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "key": "k0",
        "time": "2026-11-15T20:15:00.000Z",
        "headers": {"strom-source": "test"},
        "value": '{"name":"m"}',
    }
    assert second["value"] == {"base64": "/wA="}


def test_tail_in_a_terminal_shows_json_nicely_and_bytes_safely(stack: Settings, topic: str) -> None:
    write(stack, topic, b'{"name":"m"}', b"\xff\x00", b"\x1b[31mred [bold]x", b"x" * 10_000, b'["\x1b"]')
    done = strom(stack, "tail", topic, "--until-end")
    assert done.returncode == 0
    assert '  "name": "m"' in done.stdout
    assert "0xff00" in done.stdout
    assert "\\x1b[31mred [bold]x" in done.stdout
    assert "5904 bytes more" in done.stdout
    assert "\x1b" not in done.stdout


def test_tail_takes_several_topics_and_ends_after_count(stack: Settings, topic: str, unique: Unique) -> None:
    other = topic_of(stack, unique("t"))
    write(stack, topic, b"a", b"b")
    write(stack, other, b"c", b"d")
    done = strom(stack, "tail", topic, other, "--from", "earliest", "--count", "3", "--json")
    assert len(done.stdout.splitlines()) == 3


def test_tail_ends_cleanly_on_ctrl_c(stack: Settings, topic: str) -> None:
    write(stack, topic, b"first")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    with subprocess.Popen(
        [sys.executable, "-m", "strom", "tail", topic, "--from", "earliest", "--json"],
        env=environment | stack.as_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "first" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tail", "sma-kafak"], "There is no topic sma-kafak at {kafka}; did you mean sma-kafka?"),
        (["tail"], "Name a topic or give --pattern"),
        (["tail", "sma-kafka", "--from", "soon"], "--from 'soon' is neither earliest"),
        (["tail", "--pattern", "("], "is not a regular expression"),
        (["topics", "describe", "quite-other"], "There is no topic quite-other at {kafka}"),
        (["topics", "create", "not a name"], "Kafka refused to create the topic not a name"),
        (["topics", "create", "too-many-copies", "--replication", "3"], "Kafka refused to create"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(stack: Settings, arguments: list[str], words: str) -> None:
    done = strom(stack, *arguments)
    assert done.returncode == 2
    assert words.format(kafka=stack.kafka_bootstrap) in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", [["tail", "sma-kafka"], ["topics", "list"]])
def test_a_broker_that_is_away_is_one_sentence_and_exit_code_2(verb: list[str]) -> None:
    done = strom(Settings(kafka=KafkaSettings(bootstrap="127.0.0.1:1")), *verb)
    assert done.returncode == 2
    assert done.stderr.startswith("strom: Kafka at 127.0.0.1:1 does not answer")
    assert len(done.stderr.splitlines()) == 1


def test_topics_are_created_listed_and_described(stack: Settings, unique: Unique) -> None:
    name = unique("made")
    assert (
        f"{name}: created" in strom(stack, "topics", "create", name, "--partitions", "3", "--compact").stdout
    )
    assert f"{name}: exists already" in strom(stack, "topics", "create", name).stdout
    listed = strom(stack, "topics", "list").stdout
    assert name in listed
    assert "what came, byte for byte" in listed
    (described,) = json.loads(strom(stack, "topics", "describe", name, "--json").stdout)
    assert (len(described["partitions"]), described["compacted"], described["records"]) == (3, True, 0)
    assert "last of each key" in strom(stack, "topics", "describe", name).stdout


def test_tail_waits_for_a_topic_that_a_pattern_may_match(stack: Settings, unique: Unique) -> None:
    name = unique("later")
    environment = {each: value for each, value in os.environ.items() if not each.startswith("STROM_")}
    with subprocess.Popen(
        [sys.executable, "-m", "strom", "tail", "--pattern", f"{name}[.]\\d", "--count", "1", "--json"],
        env=environment | stack.as_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == (
            f"No topic matches {name}[.]\\d yet; waiting for one. Ctrl-C ends it.\n"
        )
        write(stack, topic_of(stack, f"{name}.1"), b"first")
        shown, _ = process.communicate(timeout=60)
    assert json.loads(shown)["value"] == "first"


def test_tail_without_automatic_commit_leaves_the_group_where_it_was(
    stack: Settings, topic: str, unique: Unique
) -> None:
    write(stack, topic, b"a", b"b")
    words = ["tail", topic, "--group", unique("g"), "--from", "earliest", "--until-end", "--json"]
    for more, count in (("--no-auto-commit", 2), ("--auto-commit", 2), ("--auto-commit", 0)):
        assert len(strom(stack, *words, more).stdout.splitlines()) == count
