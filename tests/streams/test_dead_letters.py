"""`strom dead-letters`: found by reason, time and meter; sent in anew once, whatever dies in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams.dead_letters import Wanted, dead_letters
from strom.streams.redrive import Redrive
from tests.conftest import settings_in
from tests.streams.letters import NOON_MS, bury, listed, raw
from tests.streams.writing import strom

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A Kafka of its own: whoever redrives takes all there is."""
    with Stack(settings_in(tmp_path_factory.mktemp("letters") / "home"), ["kafka"]) as stack:
        yield stack.settings


@pytest.fixture(scope="module")
def buried(settings: Settings) -> Settings:
    bury(settings, 7, reason="not-json", key=None, value=b"\x1b]0;x", at_ms=NOON_MS, topic="sma/keller")
    bury(settings, 8, key=b"haus-1", value=b'{"name":"haus-1"}', at_ms=NOON_MS + 60_000)
    now_good = b'{"name":"haus-2","1-0:1.8.0":{"value":1}}'
    bury(settings, 9, key=b"haus-2", value=now_good, at_ms=NOON_MS + 120_000)
    return settings


@pytest.mark.parametrize(
    ("flags", "places"),
    [
        ((), ["0/0", "0/1", "0/2"]),
        (("--reason", "not-json"), ["0/0"]),
        (("--meter", "keller", "--meter", "haus-2"), ["0/0", "0/2"]),
        (("--since", "2026-11-15T12:01"), ["0/1", "0/2"]),
        (("--until", "2026-11-15T12:01"), ["0/0"]),
        (("--reason", "bad-chunk"), []),
    ],
)
def test_letters_are_found_by_reason_meter_and_time(
    buried: Settings, flags: tuple[str, ...], places: list[str]
) -> None:
    assert [letter["place"] for letter in listed(buried, *flags)] == places


def test_a_list_for_eyes_counts_the_reasons_and_cannot_steer_the_terminal(buried: Settings) -> None:
    done = strom(buried, "dead-letters", "list")
    assert done.stdout.splitlines()[-1] == "3 dead letters: 2 no-known-register, 1 not-json"
    assert "\x1b" not in done.stdout + strom(buried, "dead-letters", "show", "0/0").stdout


def test_show_tells_what_it_would_be_now(buried: Settings) -> None:
    done = strom(buried, "dead-letters", "show", "0/1", "0/2")
    assert "now: still no-known-register" in done.stdout
    assert 'now: a reading: {"v": 1, "meter": "haus-2"' in done.stdout


def test_show_takes_the_same_filters_as_list_and_redrive(buried: Settings) -> None:
    done = strom(buried, "dead-letters", "show", "--reason", "no-known-register", "--meter", "haus-1")
    assert "sma-kafka.dead-letter/0/1" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 dead letters"
    done = strom(buried, "dead-letters", "show", "--since", "2026-11-15T12:01", "--limit", "1")
    assert done.stdout.splitlines()[-1] == "2 dead letters, 1 shown"
    done = strom(buried, "dead-letters", "show", "0/0", "--until", "2026-11-15T12:00")
    assert "there is no such dead letter at 0/0" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "0/99"), "there is no such dead letter at 0/99"),
        (("list", "--reason", "nonsense"), "'nonsense' is no reason; there are not-json"),
        (("redrive", "--since", "noon"), "'noon' is no time"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_exit_code_2(
    buried: Settings, arguments: tuple[str, ...], sentence: str
) -> None:
    done = strom(buried, "dead-letters", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_each_is_sent_in_anew_once_as_it_first_came(buried: Settings) -> None:
    dry = strom(buried, "dead-letters", "redrive", "--reason", "no-known-register", "--dry-run")
    assert dry.stdout == "2 would be sent; 1 of them can be read now.\n"
    assert raw(buried) == []

    first = strom(buried, "dead-letters", "redrive", "--meter", "haus-2")
    second = strom(buried, "dead-letters", "redrive", "--reason", "no-known-register")
    third = strom(buried, "dead-letters", "redrive", "--reason", "no-known-register")
    assert first.stdout == "1 sent in anew.\n"
    assert second.stdout == "1 sent in anew; 1 had been before.\n"
    assert third.stdout == "0 sent in anew; 2 had been before.\n"

    sent = {record.key: record for record in raw(buried)}
    assert len(raw(buried)) == 2
    assert sent[b"haus-2"].value == b'{"name":"haus-2","1-0:1.8.0":{"value":1}}'
    assert dict(sent[b"haus-2"].headers) == {
        "strom-source": b"mqtt",
        "strom-received": str(NOON_MS + 120_000).encode(),
        "strom-topic": b"sma",
        "strom-redriven": b"0/2",
    }
    assert [letter["redriven"] for letter in listed(buried)] == [False, True, True]


class DiedError(Exception):
    """Stands for a kill between sending and noting."""


def test_a_run_that_died_before_it_noted_is_not_repeated(
    buried: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(raw(buried))
    letters = list(dead_letters(buried, Wanted(frozenset({"not-json"}))))

    def die() -> None:
        with Redrive(buried) as run, monkeypatch.context() as patch:
            patch.setattr(run, "_note", lambda place, identity: None)
            run.send(letters[0])
            run._settle()
            raise DiedError

    with pytest.raises(DiedError):
        die()
    assert len(raw(buried)) == before + 1
    again = strom(buried, "dead-letters", "redrive")
    assert again.stdout == "0 sent in anew; 3 had been before.\n"
    assert len(raw(buried)) == before + 1


def test_a_kafka_that_is_away_is_one_sentence(tmp_path: Path) -> None:
    done = strom(settings_in(tmp_path), "dead-letters", "list")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
