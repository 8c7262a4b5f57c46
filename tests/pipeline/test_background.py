"""The pipeline's background work: what fails is logged and begun again, and the queries do not notice."""

from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from strom import supervision
from strom.pipeline.job import Pipeline
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
