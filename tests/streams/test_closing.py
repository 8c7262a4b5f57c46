"""Consumers whose close never returns, as librdkafka's sometimes does: whoever used them tells its error and goes on."""

import logging
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import confluent_kafka
import pytest

from strom.domain.notices import Told
from strom.notify.intake import Intake
from strom.serve.follow import Follower
from strom.serve.records import ForeignRecords
from strom.settings import Settings
from strom.streams.closing import close_within
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.notify.receivers import alert
from tests.notify.sending import sender_settings, tell
from tests.streams.writing import topic_of, write
from tests.waiting import until

pytestmark = pytest.mark.stack
LOG = logging.getLogger("strom.test")


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[confluent_kafka.Consumer]]:
    """Consumers close only when the test is over; here are those that were asked to."""
    asked: list[confluent_kafka.Consumer] = []
    over = Event()

    class Blocked(confluent_kafka.Consumer):
        def close(self) -> None:
            asked.append(self)
            over.wait()
            super().close()

    monkeypatch.setattr("strom.streams.closing.CLOSE_SECONDS", 1.0)
    monkeypatch.setattr("strom.streams.subscription.Client", Blocked)
    monkeypatch.setattr("strom.serve.follow.Consumer", Blocked)
    yield asked
    over.set()


def test_an_error_of_closing_is_logged_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("injected")

    assert close_within("it", fail, LOG)
    assert "it has closed with an error: injected" in caplog.text


def test_a_reader_ends_though_its_consumer_does_not_close(
    stack: Settings, unique: Callable[[str], str], blocked: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    topic = topic_of(stack, unique("closing"))
    write(stack, topic, b"a")
    group = unique("group")
    with Records(stack, [topic], start=EARLIEST, group=group, count=1) as records:
        assert [record.value for record in records] == [b"a"]
    assert len(blocked) == 1
    assert f"a consumer of the group {group} has not closed within 1 s and is given up" in caplog.text


def test_the_page_hears_of_an_error_though_the_consumer_does_not_close(
    stack: Settings, blocked: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    follower = Follower(stack, ForeignRecords(), fail, fail, fail, {})
    with pytest.raises(RuntimeError, match="injected"):
        follower.run()
    until(lambda: "the page's consumer has not closed within" in caplog.text)


def test_the_notifier_tells_its_error_before_it_closes_and_begins_again_though_that_never_ends(
    stack: Settings,
    tmp_path: Any,
    unique: Callable[[str], str],
    blocked: list[Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meter, failed = unique("haus"), Event()
    told: list[str] = []
    settings = sender_settings(stack, tmp_path, unique("sender"), webhook={"url": "http://127.0.0.1:9"})
    intake = Intake(settings, {}, lambda: None)

    def note(found: Told) -> None:
        if found.meter == meter and not failed.is_set():
            failed.set()
            raise RuntimeError("injected")
        told.append(found.meter)

    monkeypatch.setattr(intake, "_note", note)
    thread = Thread(target=intake.run, args=(lambda: None,))
    thread.start()
    try:
        tell(settings, alert(f"{meter}-1", meter))
        until(failed.is_set, "the injected error")
        until(lambda: blocked, "the consumer is asked to close")
        assert "following the alerts failed (RuntimeError: injected)" in caplog.text
        until(lambda: "is given up" in caplog.text)
        # The one that hangs is still of the group, and keeps its partitions until its session is over.
    finally:
        intake.stop()
        thread.join()
