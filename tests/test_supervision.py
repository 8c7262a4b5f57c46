"""Background work that fails is logged and counted, and goes on; its owner can still end it at once."""

import asyncio
import logging
from threading import Event

import pytest

from strom import supervision
from strom.rate_limited_log import MOST_LINES, WINDOW_SECONDS, RateLimitedLog
from strom.supervision import SupervisedThread, supervised
from tests.waiting import until

LOG = logging.getLogger("strom.test")


class Work:
    """Fails as often as it is told to."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.begun = 0
        self.restarts = 0

    def __call__(self) -> None:
        self.begun += 1
        if self.begun <= self.failures:
            raise ValueError("injected")

    async def in_task(self) -> None:
        self()

    def count(self) -> None:
        self.restarts += 1


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)


@pytest.mark.usefixtures("hasty")
def test_a_thread_that_fails_is_logged_counted_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(3)
    thread = SupervisedThread("worker", work, Event(), LOG, work.count)
    thread.start()
    until(lambda: not thread.is_alive(), "the work ends well")
    assert (work.begun, work.restarts) == (4, 3)
    assert caplog.text.count("worker failed (ValueError: injected); it is started again in") == 3
    assert all(record.exc_info is not None for record in caplog.records)  # with the traceback


def test_a_thread_that_waits_to_begin_again_ends_when_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 10_000.0)
    monkeypatch.setattr(supervision, "LONGEST_PAUSE", 10_000.0)
    work, stopping = Work(1), Event()
    thread = SupervisedThread("worker", work, stopping, LOG, work.count)
    thread.start()
    until(lambda: work.restarts, "the work has failed")
    stopping.set()
    until(lambda: not thread.is_alive(), "the thread ends during its back-off")
    assert work.begun == 1


def test_what_fails_while_it_is_stopped_is_nobodys_news(caplog: pytest.LogCaptureFixture) -> None:
    work, stopping = Work(1), Event()
    stopping.set()
    thread = SupervisedThread("worker", work, stopping, LOG, work.count)
    thread.start()
    until(lambda: not thread.is_alive(), "the thread ends")
    assert (work.restarts, caplog.text) == (0, "")


@pytest.mark.usefixtures("hasty")
def test_a_task_that_fails_is_started_again_and_can_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        work = Work(2)
        await supervised("worker", work.in_task, LOG, work.count)
        assert (work.begun, work.restarts) == (3, 2)
        endless = Work(10**9)
        task = asyncio.create_task(supervised("worker", endless.in_task, LOG, endless.count))
        while not endless.restarts:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())
    assert "worker failed (ValueError: injected)" in caplog.text


def test_warnings_that_come_a_thousand_times_are_a_few_lines_and_a_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    limited = RateLimitedLog(LOG, lambda: now)
    for number in range(1_000):
        limited.warning("record %d is foreign", number)
    assert len(caplog.messages) == MOST_LINES
    now = WINDOW_SECONDS
    limited.warning("record %d is foreign", 1_000)
    assert caplog.messages[MOST_LINES:] == [
        f"{1_000 - MOST_LINES} lines like the next one were left out",
        "record 1000 is foreign",
    ]
