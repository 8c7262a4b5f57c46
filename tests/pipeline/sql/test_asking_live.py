"""Live queries: what comes, each reading once, into the terminal or a topic; and what cannot go on is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.outbox import Outbox
from strom.pipeline.quiet import hush_pyspark
from strom.pipeline.sql.live import LiveQuery, Watch, Wish
from strom.settings import PipelineSettings, Settings
from strom.streams import topics
from tests.pipeline.sql.asking import Listening, at_minute, now_ms, send, set_area, since, until, values_in
from tests.streams.writing import topic_of

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    hush_pyspark()


@pytest.fixture
def own(stack: Settings, tmp_path: Path) -> Settings:
    return stack.model_copy(update={"pipeline": PipelineSettings(checkpoints=str(tmp_path / "checkpoints"))})


@pytest.fixture
def meter(unique: Callable[[str], str]) -> str:
    return unique("haus")


def test_a_changed_area_shows_up_and_a_repeat_does_not(
    own: Settings, spark: SparkSession, meter: str, tmp_path: Path
) -> None:
    text = "SELECT meter, import_w, area FROM readings JOIN meters USING (meter) WHERE import_w > 10"
    set_area(own, meter, "Nord")
    began = now_ms()
    send(own, [at_minute(meter, 0, 0, import_w=5), at_minute(meter, 0, 1, import_w=20)])
    with Listening(spark, own, Wish(text, since(began)), tmp_path / "c") as listening:
        listening.await_rows(lambda rows: len(rows) == 1)
        set_area(own, meter, "Süd")
        send(own, [at_minute(meter, 0, 1, import_w=20), at_minute(meter, 1, 2, import_w=30)])
        rows = listening.await_rows(lambda rows: len(rows) >= 2)
    assert rows == [
        {"meter": meter, "import_w": 20, "area": "Nord"},
        {"meter": meter, "import_w": 30, "area": "Süd"},
    ]


def test_a_quarter_hour_that_was_taken_back_is_no_row_of_nulls(
    own: Settings, spark: SparkSession, meter: str, tmp_path: Path
) -> None:
    began, start = now_ms(), "2026-01-01T00:00:00Z"
    outbox = Outbox(own)
    for value in (None, {"v": 1, "meter": meter, "start": start, "import_wh": 250}):
        outbox.put(topics.LOAD_PROFILE, f"{meter}/{start}", value)
    outbox.confirm()
    text = f"SELECT key, meter, import_wh FROM load_profile WHERE key LIKE '{meter}%'"  # noqa: S608
    with Listening(spark, own, Wish(text, since(began)), tmp_path / "c") as listening:
        rows = listening.await_rows(bool)
    assert rows == [{"key": f"{meter}/{start}", "meter": meter, "import_wh": 250}]


def test_windows_are_told_once_when_they_are_over_and_a_restart_goes_on(
    own: Settings, spark: SparkSession, meter: str, unique: Callable[[str], str]
) -> None:
    topic = unique("result")
    text = """
        SELECT concat(meter, ' ', window.start) AS key, meter, window.start AS start, avg(import_w) AS mean, count(*) AS n
        FROM readings GROUP BY window(at, '15 minutes'), meter
    """
    wish = Wish(text, since(now_ms(), late_ms=60_000), topic)
    send(own, [at_minute(meter, minute, minute, import_w=100 * minute) for minute in (1, 2, 3)])
    first = LiveQuery(spark, own, wish).start_into("mean", trigger_seconds=0.1)
    until(lambda: any(each["numInputRows"] for each in first.recentProgress))
    first.stop()
    send(own, [at_minute(meter, 14, 14, import_w=600), at_minute(meter, 40, 40)])
    live = LiveQuery(spark, own, wish)
    assert live.mode == "append"
    watch = Watch(live.start_into("mean", trigger_seconds=0.1))
    told = [
        (
            f"{meter} 2026-01-01 00:00:00",
            {"meter": meter, "start": "2026-01-01T00:00:00.000Z", "mean": 300, "n": 4},
        )
    ]
    until(lambda: values_in(own, topic) == told)
    send(own, [at_minute(meter, 3, 99, import_w=9)])  # more than a minute behind the newest
    watch.until(lambda: watch.late > 0, None)
    assert values_in(own, topic) == told


@pytest.mark.parametrize(
    ("query", "here", "topic"),
    [
        ("SELECT meter, import_w FROM readings", "update", "append"),
        ("SELECT meter, count(*) AS n FROM readings GROUP BY meter", "update", "update"),
        ("SELECT window(at, '1 minute') AS w, count(*) AS n FROM readings GROUP BY 1", "update", "append"),
        (
            "SELECT meter, count(*) AS n FROM readings GROUP BY meter ORDER BY n",
            "complete",
            "Sorting is not supported",
        ),
        ("SELECT * FROM readings LIMIT 3", "append", "append"),
        (
            "SELECT a.meter FROM readings a JOIN readings b ON a.meter = b.meter AND b.at BETWEEN a.at AND a.at + INTERVAL 1 MINUTE",
            "update",
            "append",
        ),
        ("SELECT meter, kind FROM alerts", "update", "append"),
        ("SELECT meter, row_number() OVER (ORDER BY at) FROM readings", "Window function", "Window function"),
        ("SELECT * FROM meters", "reads nothing that goes on", "reads nothing that goes on"),
    ],
)
def test_the_query_decides_on_the_mode(
    stack: Settings, spark: SparkSession, query: str, here: str, topic: str
) -> None:
    for into, wanted in ((None, here), ("somewhere", topic)):
        found = _mode(stack, spark, query, into)
        assert found == wanted or (" " in wanted and wanted in found)


def _mode(settings: Settings, spark: SparkSession, query: str, into: str | None) -> str:
    try:
        return LiveQuery(spark, settings, Wish(query, since(0), into)).mode
    except StromError as error:
        return str(error)


@pytest.mark.parametrize(
    ("topic", "query", "sentence"),
    [
        ("sma-kafka", "SELECT meter FROM readings", "sma-kafka is written by Strom itself"),
        ("load-profile", "SELECT meter FROM readings", "load-profile is written by Strom itself"),
        ("__consumer_offsets", "SELECT meter FROM readings", "is written by Strom itself"),
        ("two words", "SELECT meter FROM readings", "'two words' is no name for a topic"),
        ("mine", "SELECT meter AS key FROM readings", "nothing but a key"),
    ],
)
def test_where_a_result_may_not_go_is_told(
    stack: Settings, spark: SparkSession, topic: str, query: str, sentence: str
) -> None:
    with pytest.raises(StromError, match=sentence):
        LiveQuery(spark, stack, Wish(query, since(0), topic))


def test_a_query_that_would_feed_itself_is_refused(
    stack: Settings, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    name = topic_of(stack, unique("loop"))
    with pytest.raises(StromError, match="would write into it without end"):
        LiveQuery(spark, stack, Wish(f"SELECT value FROM `{name}`", since(0), name))  # noqa: S608


def test_a_query_that_fails_on_its_way_is_one_sentence(
    own: Settings, spark: SparkSession, meter: str, tmp_path: Path
) -> None:
    began = now_ms()
    send(own, [at_minute(meter, 0, 0, import_w=0)])
    live = LiveQuery(spark, own, Wish("SELECT 1 / import_w AS x FROM readings", since(began)))
    watch = Watch(live.start_here(lambda rows: None, str(tmp_path / "c")))
    with pytest.raises(
        StromError, match=r"^The query cannot be run: Division by zero.* \(line 1, column 8\)\.$"
    ):
        watch.until(lambda: False, None)
