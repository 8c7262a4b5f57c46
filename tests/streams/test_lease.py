"""Two redrives at the same time: one sends, the other waits, and one that lost its right stops."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import lease, redrive, topics
from strom.streams.dead_letters import Wanted, dead_letters
from strom.streams.producer import open_producer
from strom.streams.records import Records
from strom.streams.redrive import Redrive
from strom.streams.start import EARLIEST
from tests.conftest import settings_in
from tests.streams.writing import SECONDS

pytestmark = pytest.mark.stack

LETTERS = 1500


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A Kafka of its own: whoever redrives takes all there is."""
    with Stack(settings_in(tmp_path_factory.mktemp("lease") / "home"), ["kafka"]) as stack:
        yield stack.settings


def bury(settings: Settings, count: int) -> None:
    producer = open_producer(settings, "strom-test")
    for number in range(count):
        headers: list[tuple[str, str | bytes | None]] = [
            ("strom-reason", b"not-json"),
            ("strom-received", b"1"),
        ]
        producer.produce(topics.DEAD_LETTER, json.dumps(number).encode(), b"m", headers=headers)
    assert producer.flush(SECONDS) == 0


def sent(settings: Settings) -> Counter[str | None]:
    """How often each dead letter is in the raw topic."""
    with Records(settings, [topics.RAW], start=EARLIEST, until_end=True) as records:
        return Counter(record.header(topics.HEADER_REDRIVEN) for record in records)


def test_of_redrives_side_by_side_each_letter_is_sent_by_one(settings: Settings) -> None:
    bury(settings, LETTERS)
    command = [sys.executable, "-m", "strom", "dead-letters", "redrive"]
    runs = [
        subprocess.Popen(
            command,
            env=settings.child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        told = [run.communicate(timeout=SECONDS * 3) for run in runs]
    finally:
        for run in runs:
            run.kill()
    assert [run.returncode for run in runs] == [0, 0, 0], told
    assert sorted(out for out, _ in told) == [
        *[f"0 sent in anew; {LETTERS:,} had been before.\n"] * 2,
        f"{LETTERS:,} sent in anew.\n",
    ]
    assert len(sent(settings)) == LETTERS
    assert set(sent(settings).values()) == {1}


def test_a_run_that_stood_still_and_lost_its_right_stops_and_nothing_is_sent_twice(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "SESSION_SECONDS", 6.0)  # the shortest that Kafka takes
    monkeypatch.setattr(redrive, "_CHECK_SECONDS", 0.0)
    bury(settings, 2)
    with Redrive(settings) as first:
        todo = [each for each in dead_letters(settings, Wanted()) if each.identity not in first.done]
    assert len(todo) == 2

    def stand_still_between_two() -> None:
        with Redrive(settings) as slow:
            slow.send(todo[0])
            slow._producer.flush()
            slow._lease._ended.set()  # its pulse stops, as that of a process that is halted
            slow._lease._pulse.join()
            with Redrive(settings) as quick:
                for letter in todo:
                    if letter.identity not in quick.done:
                        quick.send(letter)
            slow.send(todo[1])

    with pytest.raises(StromError, match="another redrive is under way"):
        stand_still_between_two()
    assert {sent(settings)[letter.place] for letter in todo} == {1}


def test_a_run_that_waits_in_vain_is_one_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "WAIT_SECONDS", 1.0)
    outcome: list[str] = []

    def second() -> None:
        try:
            with Redrive(settings):
                outcome.append("let in")
        except StromError as error:
            outcome.append(str(error))

    with Redrive(settings):
        beside = threading.Thread(target=second)
        beside.start()
        beside.join(SECONDS)
    assert outcome == ["another redrive is under way; run this again when it has ended."]
