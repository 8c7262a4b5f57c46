"""`strom produce` when Kafka is away, and what it leaves of the lines that were not written."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from strom.cli.produce_failed import FailedLines
from strom.settings import PartsSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams.choices import UNDER_WAY
from tests.outages import halted
from tests.streams.producing import producing
from tests.streams.writing import SECONDS, lying_in, strom, topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]


@pytest.fixture
def topic(servers: Stack, unique: Unique) -> str:
    return topic_of(servers.settings, unique("lines"))


def values(settings: Settings, topic: str) -> list[bytes]:
    return [record.value or b"" for record in lying_in(settings, topic)]


def say(process: subprocess.Popen[bytes], *lines: bytes) -> BinaryIO:
    assert process.stdin is not None
    process.stdin.write(b"".join(line + b"\n" for line in lines))
    process.stdin.flush()
    return process.stdin  # type: ignore[return-value]


def told(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=SECONDS)
    return process.returncode, output.decode(), errors.decode()


def test_a_broker_that_is_away_is_told_of_and_waited_for(servers: Stack, topic: str) -> None:
    with producing(servers.settings, topic, "--key", "m") as process:
        say(process, b"before")
        until(lambda: values(servers.settings, topic), "the first line is written")
        with halted(servers):
            say(process, b"while it is away")
            assert process.stderr is not None
            line = next(each for each in process.stderr if b"confirmed nothing" in each).decode()
        code, output, _ = told(process)
    assert line.startswith(f"Kafka at {servers.settings.kafka_bootstrap} has confirmed nothing for ")
    assert line.endswith("s: 1 under way, each given up after 300 s\n")
    assert (code, output[:18]) == (0, "2 messages written")
    assert values(servers.settings, topic) == [b"before", b"while it is away"]


def test_all_that_was_not_written_can_be_sent_again_from_one_file_in_order(
    servers: Stack, topic: str, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    lines = [b"%d" % number for number in range(UNDER_WAY + 2000)]
    with producing(servers.settings, topic, "--key", "m", "--timeout", "5", "--failed", str(left)) as process:
        say(process, b"before")
        until(lambda: values(servers.settings, topic), "the first line is written")
        with halted(servers):
            say(process, *lines).close()
            process.stdin = None
            code, output, errors = told(process)
    assert (code, output) == (1, f"1 message written to {topic}: 1 to partition {place(servers, topic)}.\n")
    assert "messages were not written: line 2 (Kafka at " in errors
    assert "; nothing after line " in errors
    assert errors.endswith(f" was sent; {len(lines):,} to send again in {left}.\n")
    assert left.read_bytes().splitlines() == lines
    again = strom(servers.settings, "produce", topic, str(left), "--key", "m")
    assert (again.returncode, again.stderr) == (0, "")
    assert values(servers.settings, topic) == [b"before", *lines]


def place(servers: Stack, topic: str) -> int:
    return lying_in(servers.settings, topic)[0].partition


def test_nothing_more_is_sent_once_a_line_was_given_up(servers: Stack, topic: str) -> None:
    with producing(servers.settings, topic, "--key", "m", "--timeout", "5") as process:
        say(process, b"before")
        until(lambda: values(servers.settings, topic), "the first line is written")
        with halted(servers):
            say(process, *(b"%d" % number for number in range(UNDER_WAY + 2000)))
            code, _, errors = told(process)
    assert code == 1
    assert " more (--failed FILE keeps all of them); nothing after line 10," in errors
    assert values(servers.settings, topic) == [b"before"]


def test_what_ctrl_c_leaves_unconfirmed_is_kept_as_well(servers: Stack, topic: str, tmp_path: Path) -> None:
    left = tmp_path / "left"
    with producing(servers.settings, topic, "--key", "m", "--failed", str(left)) as process:
        say(process, b"before")
        until(lambda: values(servers.settings, topic), "the first line is written")
        with halted(servers):
            say(process, b"one", b"two")
            assert process.stderr is not None
            assert next(each for each in process.stderr if b": 2 under way" in each)
            process.send_signal(signal.SIGINT)
            code, _, errors = told(process)
    assert code == 130
    assert errors.endswith(f"; 2 to send again in {left}.\n")
    assert left.read_bytes() == b"one\ntwo\n"


def test_a_line_that_is_at_fault_itself_is_kept_and_the_others_are_written(
    stack: Settings, unique: Unique, tmp_path: Path
) -> None:
    topic = topic_of(stack, unique("lines"))
    left = tmp_path / "left"
    left.write_text("of a former run\n")
    given = "m:1\nno key\r\r\nm:2\n"
    done = strom(stack, "produce", topic, "--key-separator", ":", "--failed", str(left), given=given)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"line 2 (there is no ':' between key and value); 1 to send again in {left}.\n"
    )
    assert values(stack, topic) == [b"1", b"2"]
    assert left.read_bytes() == b"of a former run\nno key\r\r\n"


def test_one_by_one_a_refused_line_and_all_after_it_are_kept(
    stack: Settings, unique: Unique, tmp_path: Path
) -> None:
    topic = topic_of(stack, unique("small"), config={"max.message.bytes": "2000"})
    left = tmp_path / "left"
    lines = [b"fits", b"x" * 5000, b"fits as well"]
    (tmp_path / "lines").write_bytes(b"\n".join(lines))
    words = ["--sync", "--compression", "none", "--failed", str(left)]
    done = strom(stack, "produce", topic, str(tmp_path / "lines"), *words)
    assert done.returncode == 1
    assert done.stderr.endswith(f"; nothing after it was sent; 2 to send again in {left}.\n")
    assert values(stack, topic) == [b"fits"]
    assert left.read_bytes().splitlines() == lines[1:]


def test_a_line_that_is_too_long_is_named_and_not_kept(
    stack: Settings, unique: Unique, tmp_path: Path
) -> None:
    topic = topic_of(stack, unique("long"))
    small = stack.model_copy(update={"parts": PartsSettings(over_bytes=1000, memory_mb=1)})
    done = strom(
        small, "produce", topic, "--failed", str(tmp_path / "left"), given=f"a\n{'x' * 3_000_000}\nb\n"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("strom: 1 of 3 messages were not written: line 2 (it has more than")
    assert sorted(values(stack, topic)) == [b"a", b"b"]
    assert not (tmp_path / "left").exists()


def test_each_whole_file_that_was_not_written_is_named(
    stack: Settings, unique: Unique, tmp_path: Path
) -> None:
    topic = topic_of(stack, unique("small"), config={"max.message.bytes": "2000"})
    files = [tmp_path / f"{number}" for number in range(7)]
    for file in files:
        file.write_bytes(b"x" * 5000)
    done = strom(stack, "produce", topic, *map(str, files), "--whole", "--compression", "none")
    assert done.returncode == 1
    assert done.stderr.startswith("strom: 7 of 7 messages were not written: ")
    assert not [file for file in files if f"{file} (" not in done.stderr]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--failed", "left", "--whole"], "--failed keeps lines, and --whole sends files"),
        (["--failed", "left", "--transactional", "t"], "--transactional writes all or nothing"),
        (["--failed", "/not/there"], "--failed /not/there cannot be written (No such file or directory)"),
        (["--failed", __file__, __file__], "is what is to be sent; name another file."),
    ],
)
def test_a_file_for_failed_lines_that_makes_no_sense_is_refused(
    stack: Settings, words: list[str], said: str
) -> None:
    before = Path(__file__).read_bytes()
    done = strom(stack, "produce", "sma-kafka", *words, given="")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert said in done.stderr
    assert (Path(__file__).read_bytes(), Path("left").exists()) == (before, False)


def test_standard_input_cannot_be_the_file_for_what_failed(stack: Settings, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("v\n")
    command = [sys.executable, "-m", "strom", "produce", "sma-kafka", "--failed", str(file)]
    with file.open("rb") as lines:
        done = subprocess.run(
            command, stdin=lines, env=stack.child_environment(), capture_output=True, text=True, timeout=120
        )
    assert (done.returncode, "is what is to be sent; name another file." in done.stderr) == (2, True)
    assert file.read_text() == "v\n"


def test_large_lines_that_failed_are_not_gathered_in_memory(tmp_path: Path) -> None:
    lines, large = FailedLines(tmp_path / "left", []), b"x" * (30 << 20)
    for number in (2, 1, 3):  # the third is too much
        lines.keep(number, large + b"%d" % number)
    assert lines.path.stat().st_size >= 3 * len(large)
    lines.close()
    kept = lines.path.read_bytes().split(b"\n")
    assert [line[-1:] for line in kept] == [b"1", b"2", b"3", b""]


def test_what_comes_after_a_flush_stands_behind_what_came_before(tmp_path: Path) -> None:
    lines = FailedLines(tmp_path / "left", [])
    lines.keep(2, b"two")
    lines.keep(1, b"one")
    lines.flush()
    assert lines.path.read_bytes() == b"one\ntwo\n"
    lines.close()


def test_a_disk_that_is_full_is_told_at_the_end() -> None:
    lines = FailedLines(Path("/dev/full"), [])
    lines.keep(1, b"v")
    lines.close()
    assert lines.trouble == "No space left on device"
