"""`strom produce` as people type it, with what they get when something is wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strom.settings import KafkaSettings, PartsSettings, Settings
from strom.streams.inventory import topic_states
from tests.streams.writing import lying_in, strom, topic_of
from tests.waiting import until

Unique = Callable[[str], str]
stack_test = pytest.mark.stack
NOWHERE = Settings(kafka=KafkaSettings(bootstrap="127.0.0.1:1"))


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("t"))


@stack_test
def test_each_line_of_standard_input_is_a_message(stack: Settings, topic: str) -> None:
    done = strom(stack, "produce", topic, "--partition", "1", given="eins\r\n\nzwei, ohne Ende")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"3 messages written to {topic}: 3 to partition 1.\n"
    assert [record.value for record in lying_in(stack, topic)] == [b"eins", b"", b"zwei, ohne Ende"]
    assert {record.key for record in lying_in(stack, topic)} == {None}


@stack_test
def test_key_headers_and_time_are_those_of_every_message(stack: Settings, topic: str) -> None:
    done = strom(
        stack, "produce", topic, "--key", "m1", "--header", "a=1", "--header", "b=x=y", "--header", "c=",
        "--timestamp", "2026-11-15T20:15:00Z", "--compression", "zstd", given="v",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (record,) = lying_in(stack, topic)
    assert (record.key, record.at_ms) == (b"m1", 1_794_773_700_000)
    assert record.headers == (("a", b"1"), ("b", b"x=y"), ("c", b""))


@stack_test
def test_lines_may_hold_their_keys(stack: Settings, topic: str) -> None:
    done = strom(stack, "produce", topic, "--key-separator", "\\t", "--sync", given="a\t1\nb\t2\t3\n")
    assert done.returncode == 0, done.stderr
    assert {record.key: record.value for record in lying_in(stack, topic)} == {b"a": b"1", b"b": b"2\t3"}


@stack_test
def test_files_are_sent_line_by_line_or_whole(stack: Settings, topic: str, tmp_path: Path) -> None:
    for name, text in (("a", "1\n2\n"), ("b", "3\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert strom(stack, "produce", topic, *files, "--partition", "0").returncode == 0
    assert strom(stack, "produce", topic, *files, "--partition", "1", "--whole").returncode == 0
    assert [record.value for record in lying_in(stack, topic)] == [b"1", b"2", b"3", b"1\n2\n", b"3\n"]


@stack_test
def test_what_is_too_large_for_one_record_goes_in_parts(stack: Settings, topic: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 3_000_000)
    done = strom(stack, "produce", topic, str(tmp_path / "large"), "--whole", "--key", "m", "--acks", "1")
    assert "1 messages written" in done.stdout
    assert "1 of them in parts" in done.stdout
    assert [len(record.value or b"") for record in lying_in(stack, topic)] == [900_000] * 3 + [300_000]


@stack_test
def test_lines_that_cannot_be_sent_are_named_and_the_others_are_written(stack: Settings, topic: str) -> None:
    done = strom(stack, "produce", topic, "--key-separator", ":", given="a:1\nb2\nc:3\nd4\n")
    assert done.returncode == 1
    assert done.stdout.startswith(f"2 messages written to {topic}")
    assert done.stderr == (
        "strom: 2 of 4 messages were not written: line 2 (there is no ':' between key and value), "
        "line 4 (there is no ':' between key and value).\n"
    )
    assert sorted(record.value or b"" for record in lying_in(stack, topic)) == [b"1", b"3"]


@stack_test
def test_a_line_that_is_too_long_is_named_and_the_next_one_is_written(stack: Settings, topic: str) -> None:
    small = stack.model_copy(update={"parts": PartsSettings(over_bytes=1000, memory_mb=1)})
    done = strom(small, "produce", topic, given=f"a\n{'x' * 3_000_000}\nb\n")
    assert done.returncode == 1
    assert "1 of 3 messages were not written: line 2 (it has more than 1,048,576 bytes" in done.stderr
    assert sorted(record.value or b"" for record in lying_in(stack, topic)) == [b"a", b"b"]


@stack_test
def test_refusals_of_the_broker_are_named_by_file_and_line(
    stack: Settings, unique: Unique, tmp_path: Path
) -> None:
    topic = topic_of(stack, unique("small"), config={"max.message.bytes": "2000"})
    (tmp_path / "lines").write_text("fits\n" + "x" * 5000 + "\nnever\n")
    done = strom(stack, "produce", topic, str(tmp_path / "lines"), "--sync", "--compression", "none")
    assert done.returncode == 1
    assert f"1 of 2 messages were not written: {tmp_path / 'lines'}, line 2 ({topic} takes no" in done.stderr
    assert done.stderr.endswith("; nothing after it was sent.\n")
    assert [record.value for record in lying_in(stack, topic)] == [b"fits"]


@stack_test
def test_a_transaction_is_written_whole_or_not_at_all(stack: Settings, topic: str, unique: Unique) -> None:
    name = unique("id")
    words = ["produce", topic, "--key-separator", ":", "--transactional", name]
    done = strom(stack, *words, given="a:1\nb2\n")
    assert done.returncode == 1
    assert done.stderr == (
        f"strom: Nothing was written to {topic}: line 2 (there is no ':' between key and value).\n"
    )
    assert (done.stdout, lying_in(stack, topic)) == ("", [])
    done = strom(stack, *words, given="a:1\nb:2\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(record.value or b"" for record in lying_in(stack, topic)) == [b"1", b"2"]


@stack_test
@pytest.mark.parametrize("transactional", [False, True])
def test_ctrl_c_ends_it_and_says_what_was_written(
    stack: Settings, topic: str, unique: Unique, transactional: bool
) -> None:
    words = ["--transactional", unique("id")] if transactional else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STROM_")}
    with subprocess.Popen(
        [sys.executable, "-m", "strom", "produce", topic, *words],
        env=environment | stack.as_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write("one\n")
        process.stdin.flush()
        if transactional:
            until(lambda: has_open_transaction(stack, topic), "the line is on its way")
        else:
            until(lambda: lying_in(stack, topic), "the line is written")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout is not None
        assert process.stderr is not None
        told, errors = process.stdout.read(), process.stderr.read()
    if transactional:
        assert (told, errors) == ("", f"Stopped: nothing was written to {topic}.\n")
        assert lying_in(stack, topic) == []
    else:
        assert told.startswith(f"1 messages written to {topic}: 1 to partition ")
        assert errors == "Stopped after 1 messages.\n"


def has_open_transaction(settings: Settings, topic: str) -> bool:
    """Whether something lies in the topic that nobody may see yet."""
    (state,) = topic_states(settings, [topic])
    return state.records > 0


@stack_test
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sma-kafak"], "There is no topic sma-kafak at {kafka}; did you mean sma-kafka?"),
        (["sma-kafka", "--partition", "99"], "sma-kafka has no partition 99; it has 0 to 3."),
        (["sma-kafka", "--acks", "1", "--idempotent"], "idempotent needs acks all, not 1"),
        (["sma-kafka", "--acks", "0", "--transactional", "t"], "transactional needs acks all and idempotent"),
        (["sma-kafka", "--no-idempotent", "--transactional", "t"], "leave out --no-idempotent"),
        (["sma-kafka", "--partitioner", "area"], 'kafka.partitioner is "area", but there is none'),
        (["sma-kafka", "--key", "a", "--key-separator", ":"], "--key and --key-separator both say"),
        (["sma-kafka", "--whole", "--key-separator", ":"], "--key-separator is the text between"),
        (["sma-kafka", "--key-separator", ""], "--key-separator is the text between"),
        (["sma-kafka", "--header", "novalue"], "--header 'novalue' is no header; write it as NAME=VALUE."),
        (["sma-kafka", "--timestamp", "soon"], "'soon' is no time"),
        (["sma-kafka", "/not/there"], "/not/there cannot be read (No such file or directory)"),
        (["sma-kafka", "/"], "/ cannot be read (Is a directory)"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_sent(
    stack: Settings, arguments: list[str], words: str
) -> None:
    done = strom(stack, "produce", *arguments, given="")
    assert done.returncode == 2
    assert words.format(kafka=stack.kafka_bootstrap) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_broker_that_is_away_is_one_sentence() -> None:
    done = strom(NOWHERE, "produce", "t", given="v\n")
    assert done.returncode == 2
    assert done.stderr.startswith("strom: Kafka at 127.0.0.1:1 does not answer")
    assert len(done.stderr.splitlines()) == 1
