"""Queries in a folder run beside the pipeline; one that is broken is told, and only that one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.sql.check import checked
from strom.pipeline.sql.user_queries import UserQueries
from strom.settings import PipelineSettings, Settings
from strom.stack.state import status
from tests.pipeline.sql.asking import at_minute, from_now, send, set_area, until, values_in

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
EXAMPLES = Path(__file__).parents[3] / "examples" / "queries"


@pytest.fixture
def own(stack: Settings, tmp_path: Path) -> Settings:
    places = {"home": tmp_path, "pipeline": PipelineSettings(trigger_seconds=0.1)}
    return stack.model_copy(update=places)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    return tmp_path / "queries"


@pytest.fixture
def queries(own: Settings, spark: SparkSession, folder: Path) -> Iterator[UserQueries]:
    found = UserQueries(own, spark, folder)
    yield found
    found.stop()


def broken(queries: UserQueries) -> dict[str, object]:
    return {name: state.get("why") for name, state in queries.states.items()}


def test_a_broken_query_is_told_and_the_others_run(
    own: Settings, queries: UserQueries, folder: Path, unique: Callable[[str], str]
) -> None:
    topic, meter = unique("high"), unique("haus")
    good = (
        f"-- into: {topic}\n{from_now()}\nSELECT meter AS key, import_w FROM readings WHERE meter = '{meter}'"
    )
    (folder / "good.sql").write_text(good)
    (folder / "wrong.sql").write_text("-- into: elsewhere\nSELECT wat FROM readings")
    (folder / "nowhere.sql").write_text("SELECT meter FROM readings")
    (folder / "own.sql").write_text("-- into: readings\nSELECT meter FROM readings")
    queries.round(0)
    why = broken(queries)
    assert why["good.sql"] is None
    assert "name `wat` cannot be resolved" in str(why["wrong.sql"])
    assert "begin with `-- into: TOPIC`" in str(why["nowhere.sql"])
    assert "readings is written by Strom itself" in str(why["own.sql"])
    send(own, [at_minute(meter, 0, 0, import_w=5)])
    until(lambda: values_in(own, topic) == [(meter, {"import_w": 5})])

    # What the pipeline writes down is what `strom status` shows of the pipeline, as long as it lives.
    written = json.loads(own.query_states.read_text())
    assert written["queries"] == queries.states
    (own.home / "run" / "pipeline.ready").write_text(f"{written['pid']}\n")
    assert status(own)["pipeline"]["queries"]["good.sql"] == {
        "state": "running",
        "into": topic,
        "failures": 0,
    }

    # Mended, changed, taken away: the folder is what counts.
    (folder / "wrong.sql").write_text(good.replace(topic, f"{topic}-too"))
    (folder / "nowhere.sql").unlink()
    queries.round(1)
    assert sorted(queries.states) == ["good.sql", "own.sql", "wrong.sql"]
    assert broken(queries)["wrong.sql"] is None
    until(lambda: values_in(own, f"{topic}-too") == [(meter, {"import_w": 5})])
    queries.stop()
    assert "queries" not in status(own)["pipeline"]


def test_a_query_that_fails_is_tried_again_with_longer_pauses(
    own: Settings, queries: UserQueries, folder: Path, unique: Callable[[str], str]
) -> None:
    topic, meter = unique("quotient"), unique("haus")
    (folder / "q.sql").write_text(
        f"-- into: {topic}\n{from_now()}\nSELECT 1 / import_w AS x FROM readings WHERE meter = '{meter}'"
    )
    send(own, [at_minute(meter, 0, 0, import_w=0)])
    queries.round(0)
    now = 0.0
    for failures in (1, 2):
        until(lambda at=now: _state_at(queries, at) == "broken")  # type: ignore[misc]
        state = queries.states["q.sql"]
        assert state["failures"] == failures
        assert str(state["why"]).startswith("Division by zero")
        assert _state_at(queries, now + 4.9 * failures) == "broken"
        now += 5.1 * failures
        assert _state_at(queries, now) == "running"


def _state_at(queries: UserQueries, now: float) -> object:
    queries.round(now)
    return queries.states["q.sql"]["state"]


def test_a_folder_that_is_not_there_is_refused_by_the_settings_name(
    own: Settings, spark: SparkSession
) -> None:
    with pytest.raises(StromError, match=r"^sql\.queries is nowhere, which is not a folder"):
        UserQueries(own, spark, Path("nowhere"))


def test_the_examples_run_and_tell_what_they_say(
    own: Settings, spark: SparkSession, folder: Path, unique: Callable[[str], str]
) -> None:
    """With the topics renamed and from now on: the shared topics hold what other tests wrote."""
    mark, north, south = unique("x"), unique("nord"), unique("süd")
    for path in EXAMPLES.glob("*.sql"):
        text = (
            path.read_text().replace("-- into: ", f"-- into: {mark}-").replace("-- late: 10m", "-- late: 1s")
        )
        (folder / path.name).write_text(text.replace("-- into:", f"{from_now()}\n-- into:"))
    set_area(own, north, f"N{mark}")
    assert [(why, would) for _, would, why in checked(spark, own, folder)] == [
        (None, f"into {mark}-power-by-area (append)"),
        (None, f"into {mark}-top-loads (append)"),
        (None, f"into {mark}-voltage-out-of-band (append)"),
    ]
    queries = UserQueries(own, spark, folder)
    try:
        queries.round(0)
        assert not any(broken(queries).values())
        send(own, [at_minute(north, 300_000, 0, import_w=3000, voltage_l1_v=231.5, voltage_l2_v=254)])
        send(own, [at_minute(south, 300_001, 0, import_w=1000, voltage_l1_v=230)])
        send(own, [at_minute(south, 300_040, 1, import_w=1)])
        until(
            lambda: all(
                values_in(own, f"{mark}-{name}")
                for name in ("power-by-area", "top-loads", "voltage-out-of-band")
            )
        )
    finally:
        queries.stop()
    start = "2026-07-28T08:00:00"
    areas = dict(values_in(own, f"{mark}-power-by-area"))
    assert areas[f"N{mark} {start}Z"]["import_w"] == 3000
    assert areas[f"unknown {start}Z"]["meters"] == 1
    [(key, loads)] = values_in(own, f"{mark}-top-loads")
    assert key == f"{start}Z"
    assert [(each["meter"], each["peak_w"]) for each in loads["top"]] == [(north, 3000), (south, 1000)]
    [(key, outside)] = values_in(own, f"{mark}-voltage-out-of-band")
    assert (key, outside["area"], outside["voltage_l2_v"]) == (north, f"N{mark}", 254)
