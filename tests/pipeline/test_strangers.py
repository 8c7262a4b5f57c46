"""Records of somebody else in every batch cost the pipeline one look a minute."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from strom.pipeline.positions import Queries
from strom.pipeline.strangers import Strangers
from strom.pipeline.ticks import Ticks
from strom.settings import Settings


def query_of(batches: int) -> StreamingQuery:
    """So many batches have ended, of ten records each."""
    progress = [
        {"batchId": number, "numInputRows": 10, "sources": [{"endOffset": {"readings": {"0": number}}}]}
        for number in range(batches)
    ]
    return cast(StreamingQuery, SimpleNamespace(recentProgress=progress))


def test_one_batch_a_minute_is_read_once_more(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [0.0]
    strangers = Strangers(cast(Any, None), own_settings, clock=lambda: seconds[0])
    read_again: list[int] = []
    monkeypatch.setattr(
        strangers, "_tell", lambda source: read_again.append(source["endOffset"]["readings"]["0"])
    )
    for number in range(20):
        strangers.took(number, 10 if number == 7 else 9)
        strangers.look(query_of(number + 1))
    assert read_again == [0]
    seconds[0] = 59.9
    strangers.look(query_of(20))
    assert read_again == [0]
    for minute in range(1, 9):
        seconds[0] = 60.0 * minute
        strangers.look(query_of(20))
    assert read_again == [0, 15, 16, 17, 18, 19]  # of more than a few the newest


def test_silences_are_judged_before_that(own_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    store = SimpleNamespace(
        tick=lambda watermark: done.append("silences"),
        strangers=SimpleNamespace(look=lambda query: done.append("somebody else's records")),
    )
    ticks = Ticks(own_settings, cast(Any, store), None)
    monkeypatch.setattr(ticks._watermark, "advance", lambda now_ms, queries: None)
    ticks.tick(1, Queries(None, None, query_of(0)))
    assert done == ["silences", "somebody else's records"]
