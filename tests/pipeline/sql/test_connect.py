"""Questions to the running pipeline by Spark Connect, beside steady traffic: the same answers as in a Spark of one's own."""

import json
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.connect_server import connect_server
from strom.pipeline.quiet import hush_pyspark
from strom.pipeline.sql.remote import NoPipelineError, remote_session, url_of
from strom.pipeline.sql.result import fetched
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.statement import check_query
from strom.pipeline.sql.views import Views
from strom.settings import Settings, SparkSettings, SqlSettings
from strom.stack.ready import announce
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.producer import open_producer
from tests.conftest import QUICK_JAVA, free_block
from tests.pipeline.sql.asking import set_area, until
from tests.pipeline.sql.test_statement import HIDDEN, QUERIES
from tests.running import Running, running
from tests.streams.writing import strom

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
METER = "haus-21"
READINGS = 5
HEAVY = "SELECT count(*) FROM range(0, 1000000000000000, 1, 4) WHERE hash(id) = 1"


@pytest.fixture(scope="module")
def settings(
    make_settings: Callable[[Path], Settings], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """Servers and a lake of these tests' own. Something else listens where Spark Connect should."""
    connect, page = free_block(4), free_block(1)
    shown = {"spark.ui.enabled": "true", "spark.ui.port": str(page)}
    more = {
        "spark": SparkSettings(java_options=QUICK_JAVA, conf=shown),
        "sql": SqlSettings(connect=True, connect_port=connect),
    }
    own = make_settings(tmp_path_factory.mktemp("connect") / "home").model_copy(update=more)
    with Stack(own, ["kafka", "postgres"]), socket.socket() as other:
        other.bind(("127.0.0.1", connect))
        other.listen()
        yield own


@pytest.fixture(scope="module")
def pipeline(settings: Settings) -> Iterator[Running]:
    """One at work, with traffic that does not end and some readings that are in the lake."""
    with running(settings, "pipeline", "pipeline", "run") as started, traffic(settings):
        send(settings, METER, range(READINGS))
        set_area(settings, METER, "Nord")
        with remote_session(url_in(settings)) as spark:
            until(lambda: in_lake(settings, spark) == READINGS, "the readings in the lake")
        yield started


def url_in(settings: Settings) -> str:
    url = url_of(settings)
    assert url is not None
    return url


def token_of(settings: Settings) -> str:
    return url_in(settings).partition("token=")[2]


def send(settings: Settings, meter: str, numbers: range) -> None:
    producer = open_producer(settings, "strom-test")
    for number in numbers:
        entry = {"value": 100 * number, "time": 1_767_225_600 + 60 * number}
        producer.produce(
            topics.RAW, json.dumps({"name": meter, "1-0:1.8.0": entry, "1-0:1.7.0": entry}), meter
        )
    assert producer.flush(60) == 0


@contextmanager
def traffic(settings: Settings) -> Iterator[None]:
    """Twenty messages a second."""
    stopped = threading.Event()

    def run() -> None:
        number = 0
        while not stopped.wait(1.0):
            send(settings, "steady", range(number, number + 20))
            number += 20

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def ask(spark: SparkSession, settings: Settings, text: str) -> list[dict[str, Any]]:
    frame = Views(settings, Sources(spark, settings)).query(text)
    return [json.loads(row) for row in fetched(frame, None)]


def in_lake(settings: Settings, spark: SparkSession) -> int:
    if not Sources(spark, settings).has_lake():
        return 0
    return int(ask(spark, settings, f"SELECT count(*) AS n FROM readings WHERE meter = '{METER}'")[0]["n"])  # noqa: S608


def stages(settings: Settings, query: str = "") -> list[dict[str, Any]]:
    """The stages of Spark's jobs, as its own page tells them."""
    api = f"http://127.0.0.1:{settings.spark.conf['spark.ui.port']}/api/v1/applications"
    (application,) = httpx.get(api).json()
    found: list[dict[str, Any]] = httpx.get(f"{api}/{application['id']}/stages?{query}").json()
    return found


def active_questions(settings: Settings) -> list[dict[str, Any]]:
    return [each for each in stages(settings, "status=active") if each["schedulingPool"] == "questions"]


@contextmanager
def asking(settings: Settings, query: str) -> Iterator[subprocess.Popen[str]]:
    """`strom sql` with a question that the pipeline is at work on."""
    command = [sys.executable, "-m", "strom", "sql", query]
    with subprocess.Popen(
        command, env=settings.child_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: active_questions(settings) or process.poll() is not None, "the question at work")
        assert process.poll() is None
        yield process


@pytest.mark.usefixtures("pipeline")
def test_strom_sql_asks_the_running_pipeline(settings: Settings) -> None:
    query = f"SELECT meter, count(*) AS n, max(import_w) AS w FROM readings WHERE meter = '{METER}' GROUP BY meter"  # noqa: S608
    done = strom(settings, "sql", "--json", query)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"meter": METER, "n": READINGS, "w": 400}
    assert done.stderr.splitlines() == [
        "▸ the running pipeline answers",
        "▸ readings: from the lake",
        "▸ 1 rows",
    ]


@pytest.mark.usefixtures("pipeline")
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM readings WHERE meter = '{METER}' ORDER BY at",  # noqa: S608
        f"SELECT m.area, r.meter, r.at FROM readings r JOIN meters m ON m.meter = r.meter WHERE r.meter = '{METER}' ORDER BY at",  # noqa: S608
        f"SELECT * FROM `topic:readings` WHERE meter = '{METER}' ORDER BY offset",  # noqa: S608
        f"SELECT key, value, headers['strom-source'] AS s FROM `sma-kafka` WHERE key = '{METER}' ORDER BY offset",  # noqa: S608
        "SELECT 1 AS a, 2.5 AS a, array(1, NULL) AS b, map('k', timestamp'2026-01-01') AS c, NULL AS d",
    ],
)
def test_the_answer_is_that_of_a_spark_of_ones_own(
    settings: Settings, spark: SparkSession, query: str
) -> None:
    own = ask(spark.newSession(), settings, query)
    with remote_session(url_in(settings)) as remote:
        assert ask(remote, settings, query) == own
    assert own


@pytest.mark.usefixtures("pipeline")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT wat FROM meters",
        "SELECT 1\nFORM meters",
        "SELECT 1; DROP TABLE a",
        "SELECT 1,\n 1/count(*) FROM meters WHERE false",
        "SELECT * FROM sma-kafka",
        "SELECT * FROM sma_kafka",
        "SELECT * FROM some.place",
        *HIDDEN,
    ],
)
def test_what_is_wrong_is_told_in_the_same_sentence(
    settings: Settings, spark: SparkSession, pipeline: Running, query: str
) -> None:
    hush_pyspark()
    with pytest.raises(StromError) as own:
        ask(spark.newSession(), settings, query)
    with remote_session(url_in(settings)) as remote, pytest.raises(StromError) as refused:
        ask(remote, settings, query)
    assert (str(refused.value), refused.value.exit_code) == (str(own.value), 2)
    assert "Spark Connect RPC error" not in pipeline.log


@pytest.mark.usefixtures("pipeline")
def test_whatever_is_a_query_is_taken_there_too(settings: Settings) -> None:
    with remote_session(url_in(settings)) as remote:
        for text in QUERIES:
            check_query(remote, text)


@pytest.mark.usefixtures("pipeline")
def test_nobody_gets_in_without_the_token_and_only_its_owner_can_read_it(settings: Settings) -> None:
    assert stat.S_IMODE(settings.connect_url.stat().st_mode) == 0o600
    other = url_in(settings).replace(token_of(settings), "x" * 43)
    for url in (other, url_in(settings).partition(";")[0]):
        with pytest.raises(NoPipelineError, match="does not answer"), remote_session(url):
            pass


def test_the_token_is_in_no_process_list_environment_or_log(settings: Settings, pipeline: Running) -> None:
    token = token_of(settings).encode()
    assert len(token) >= 32
    for file in ("cmdline", "environ"):
        for path in Path("/proc").glob(f"[0-9]*/{file}"):
            try:
                assert token not in path.read_bytes(), path
            except OSError:
                continue
    written = [path for path in settings.home.rglob("*.log*") if path.is_file()]
    assert pipeline.log_file in written
    assert not [path for path in written if token in path.read_bytes()]


def test_another_port_is_taken_where_the_one_that_is_set_is_in_use(
    settings: Settings, pipeline: Running
) -> None:
    assert f"sc://localhost:{settings.sql.connect_port}/" not in url_in(settings)
    assert "questions are taken by Spark Connect on 127.0.0.1:" in pipeline.log


@pytest.mark.usefixtures("pipeline")
def test_questions_and_the_real_time_query_have_scheduler_pools_of_their_own(settings: Settings) -> None:
    with remote_session(url_in(settings)) as remote:
        assert remote.sql("SELECT count(*) FROM range(1000)").collect() == [(1000,)]
    pools = {each["schedulingPool"] for each in stages(settings)}
    assert pools == {"default", "questions", "real-time"}


@pytest.mark.usefixtures("pipeline")
def test_ctrl_c_ends_the_question_in_the_pipeline_too(settings: Settings) -> None:
    with asking(settings, HEAVY) as question:
        question.send_signal(signal.SIGINT)
        assert question.wait(60) == 130
    until(lambda: not active_questions(settings), "no question at work")


@pytest.mark.usefixtures("pipeline")
def test_the_stream_goes_on_beside_a_heavy_question(settings: Settings) -> None:
    with asking(settings, HEAVY) as question:
        send(settings, "beside", range(3))
        with remote_session(url_in(settings)) as remote:  # a second one gets an answer, too
            count = "SELECT count(*) AS n FROM readings WHERE meter = 'beside'"
            until(lambda: ask(remote, settings, count) == [{"n": 3}], "what came meanwhile in the lake")
        assert question.poll() is None
        question.terminate()
        assert question.wait(60) == 130
    until(lambda: not active_questions(settings), "no question at work")


def test_a_result_that_is_too_large_for_the_pipeline_comes_from_a_spark_of_its_own(
    settings: Settings, pipeline: Running
) -> None:
    done = strom(
        settings, "sql", "--csv", "SELECT id, repeat('x', 1000) AS x FROM range(1000000) LIMIT 50001"
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 50_002
    assert done.stderr.splitlines() == [
        "▸ the running pipeline answers",
        "▸ these are more than 50,000 rows, too many for the memory of the pipeline",
        "▸ Spark starts",
        "▸ 50,001 rows",
    ]
    assert pipeline.process.poll() is None


@pytest.mark.usefixtures("pipeline")
def test_the_example_asks_what_other_programs_may(settings: Settings) -> None:
    command = [sys.executable, str(ROOT / "examples" / "ask_the_pipeline.py"), str(settings.home)]

    def answer() -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.stdout if done.returncode == 0 else ""

    shown = until(answer, "the view that the pipeline offers")
    assert [METER, str(READINGS), "400.000"] in [line.split() for line in shown.splitlines()]
    with remote_session(url_in(settings)) as remote:
        assert remote.sql("SELECT area FROM global_temp.meters WHERE area IS NOT NULL").collect() == [
            ("Nord",)
        ]
        count = "SELECT count(*) FROM global_temp.readings WHERE meter = 'steady'"
        before = remote.sql(count).collect()
        until(lambda: remote.sql(count).collect() > before, "new readings in the view")


def test_a_killed_pipeline_leaves_a_file_that_breaks_nothing(settings: Settings, pipeline: Running) -> None:
    pipeline.kill()
    assert settings.connect_url.exists()
    done = strom(settings, "sql", "--json", "SELECT 1 AS one")
    assert (done.stdout, done.stderr.splitlines()) == ('{"one":1}\n', ["▸ Spark starts", "▸ 1 rows"])
    announce(settings.home, "pipeline")  # its pid is another program's by now
    done = strom(settings, "sql", "--json", "SELECT 1 AS one")
    assert (done.returncode, done.stdout) == (0, '{"one":1}\n')
    why = "▸ not asked in the running pipeline: the pipeline does not answer"
    assert done.stderr.splitlines() == [why, "▸ Spark starts", "▸ 1 rows"]


def test_a_pipeline_that_stops_takes_its_file_away_and_tells_whoever_asks(settings: Settings) -> None:
    with (
        running(settings, "pipeline", "pipeline", "run", "--only", "normalise") as pipeline,
        asking(settings, HEAVY) as question,
    ):
        assert pipeline.stop() == 0
        _, errors = question.communicate(timeout=120)
    told = errors.splitlines()[-1]
    assert (question.returncode, told) == (1, "strom: The pipeline that was asked has ended; ask again.")
    assert not settings.connect_url.exists()


@pytest.mark.parametrize(("wanted", "needed", "told"), [(False, 1, False), (True, 4, True)])
def test_without_the_switch_or_a_slot_no_questions_are_taken(
    tmp_path: Path,
    spark: SparkSession,
    caplog: pytest.LogCaptureFixture,
    wanted: bool,
    needed: int,
    told: bool,
) -> None:
    settings = Settings(home=tmp_path, sql=SqlSettings(connect=wanted))
    with connect_server(spark, settings, needed):
        assert not settings.connect_url.exists()
    assert ("the stream needs all task slots" in caplog.text) == told
    assert not list(tmp_path.iterdir())
