"""The pipeline's background work: what fails is logged and begun again, and the queries do not notice."""

from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from strom import supervision
from strom.pipeline import connect_server as connect
from strom.pipeline.job import Pipeline
from strom.pipeline.slot_guard import SlotGuard
from strom.pipeline.sql.views import TABLES
from strom.settings import Settings
from tests.waiting import until


def test_an_upkeep_of_the_lake_that_fails_as_it_begins_is_started_again(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    begun: list[bool] = []
    ready = Event()

    def keep_up(settings: Settings, spark: object, stop: Event) -> None:
        begun.append(ready.is_set())
        if len(begun) < 3:
            raise ValueError("injected")
        stop.wait()

    monkeypatch.setattr("strom.pipeline.job.keep_up", keep_up)
    pipeline = Pipeline(own_settings)
    pipeline._begin(cast(Any, None), cast(Any, SimpleNamespace(stages=("archive",))), None, ready.set)
    until(lambda: len(begun) == 3, "the third attempt")
    pipeline.stop()
    assert ready.is_set()
    assert caplog.text.count("strom-upkeep failed (ValueError: injected); it is started again in") == 2


def test_a_look_at_the_slots_that_fails_is_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    looks: list[int] = []

    def look(_: SlotGuard) -> bool:
        looks.append(len(looks))
        if len(looks) < 3:
            raise TypeError("injected")
        return False

    monkeypatch.setattr(SlotGuard, "_look", look)
    with SlotGuard(session()).watching():
        until(lambda: len(looks) > 3, "looks after those that failed")
    assert caplog.text.count("slots failed (TypeError: injected); it is started again in") == 2


def test_views_for_questions_are_offered_though_the_first_attempts_fail(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    offered: list[str] = []
    attempts: list[int] = []

    class Sources:
        def __init__(self, *_: object) -> None:
            attempts.append(len(attempts))
            if len(attempts) < 3:
                raise OSError("injected")

        def has_lake(self) -> bool:
            return True

        def lake(self) -> Any:
            return self.table("readings")

        def table(self, _: str) -> Any:
            return SimpleNamespace(createOrReplaceGlobalTempView=offered.append)

    monkeypatch.setattr(connect, "Sources", Sources)
    monkeypatch.setattr(connect, "_is_started", lambda *_: True)
    monkeypatch.setattr(connect, "_stop", lambda _: None)
    monkeypatch.setattr(SlotGuard, "_look", lambda _: False)
    with connect.connect_server(session(), own_settings, 1):
        until(lambda: set(offered) == {"readings", *TABLES}, "all views")
    assert caplog.text.count("views failed (OSError: injected); it is started again in") == 2


def session() -> Any:
    """Of Spark only what is asked for before anything is looked at."""
    return SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: None)))
