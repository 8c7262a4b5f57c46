"""What failed in the background of a part is in a file of its home."""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from strom import supervision
from strom.restart_record import RestartRecord, restarts_of
from strom.supervision import SupervisedThread
from tests.waiting import until

PID = os.getpid()


def told(home: Path, restarts: int) -> dict[str, Any] | None:
    found = restarts_of(home, "poll", PID)
    return found if found.get("restarts") == restarts else None


def test_restarts_are_counted_from_the_start_with_the_last_error(tmp_path: Path) -> None:
    record = RestartRecord()
    record.add("before", "ValueError: early")
    record.keep(tmp_path, "poll")
    assert until(lambda: told(tmp_path, 1))["work"] == "before"
    for number in range(3):
        record.add("asking haus", f"ValueError: {number}")
    found = until(lambda: told(tmp_path, 4))
    assert (found["work"], found["error"]) == ("asking haus", "ValueError: 2")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["poll.restarts"]


def test_a_thread_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, done = RestartRecord(), threading.Event()
    monkeypatch.setattr(supervision, "RESTARTS", record)
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    record.keep(tmp_path, "poll")

    def work() -> None:
        if record.count < 2:
            raise OSError("injected")
        done.set()

    SupervisedThread("work", work, threading.Event(), logging.getLogger("strom.test")).start()
    assert done.wait(60)
    assert until(lambda: told(tmp_path, 2))["error"] == "OSError: injected"


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "{}", json.dumps({"pid": PID + 1, "restarts": 3})])
def test_what_another_process_told_or_nobody_of_ours_counts_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "poll.restarts").write_text(text)
    assert restarts_of(tmp_path, "poll", PID) == {}
    assert restarts_of(tmp_path, "bridge", PID) == {}


def test_a_home_that_cannot_be_written_into_is_no_failure_more(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    record = RestartRecord()
    record.keep(tmp_path, "poll")
    for number in range(2):
        record.add("work", "ValueError")
        until(lambda: not record.is_due, f"write {number}")
    assert record.count == 2
