"""The search, the lags and the verdicts of `strom bench sustained`, and one small run on real servers."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from strom.bench.sustained.arrivals import Arrived
from strom.bench.sustained.lags import LagSeries, behind_by_age, quantile, spread
from strom.bench.sustained.measured import Measured, report_of, verdicts
from strom.bench.sustained.plan import MOST_METERS, Limits, Plan
from strom.bench.sustained.processor import Snapshot
from strom.bench.sustained.run import Result, Run
from strom.bench.sustained.search import LEAST_RATE, PRECISION, Search
from strom.cli.bench_sustained import _show
from strom.errors import StromError
from strom.settings import Settings


def searched(search: Search, probe_limit: float, full_limit: float) -> list[tuple[int, bool]]:
    """What is tried where probes hold up to one rate and full-length runs up to another."""
    tried: list[tuple[int, bool]] = []
    while (step := search.step) is not None:
        tried.append((step.rate, step.confirms))
        assert len(tried) < 40, tried
        search.note(step.rate <= (full_limit if step.confirms else probe_limit))
    return tried


@pytest.mark.parametrize("limit", [20, 37, 999, 1000, 1001, 4870, 63_000])
def test_the_search_ends_within_its_precision_with_a_full_length_run(limit: int) -> None:
    search = Search(1000)
    tried = searched(search, limit, limit)
    assert search.found is not None
    assert search.found <= limit
    assert tried[-1] == (search.found, True)
    failed = [rate for rate, _ in tried if rate > limit]
    assert min(failed) / search.found <= PRECISION * 1.1  # rates are rounded to two digits


def test_the_search_doubles_then_bisects() -> None:
    tried = searched(Search(1000), 5000, 5000)
    assert tried == [(rate, False) for rate in (1000, 2000, 4000, 8000, 5700, 4800, 5200)] + [(4800, True)]


def test_a_rate_that_holds_only_for_a_short_time_is_not_the_result() -> None:
    search = Search(1000)
    tried = searched(search, 5000, 3000)
    assert search.found is not None
    assert search.found <= 3000
    assert [confirms for _, confirms in tried].count(True) > 1


def test_a_search_in_which_nothing_holds_ends_without_a_result() -> None:
    search = Search(1000)
    tried = searched(search, 0, 0)
    assert search.found is None
    assert min(rate for rate, _ in tried) >= LEAST_RATE


def test_the_lag_of_some_meters_is_that_of_the_one_that_waits_longest() -> None:
    assert behind_by_age([100.0, 97.0, 99.0], 0.0, 5.0, 104.0) == 2.0
    assert behind_by_age([100.0], 0.0, 5.0, 104.0) == 0.0  # its next message is not due yet
    assert behind_by_age([100.0, None], 60.0, 5.0, 104.0) == 39.0  # never seen: since the start


def test_a_lag_that_comes_and_goes_with_batches_does_not_grow_and_one_that_piles_up_does() -> None:
    saw, pile = LagSeries(), LagSeries()
    for second in range(90):
        saw.note(second, second % 10)
        pile.note(second, second / 3)
    assert saw.growth() == 0
    assert pile.growth() == pytest.approx(20, abs=1)
    assert LagSeries().growth() == 0


def test_it_has_caught_up_when_the_lag_stays_below_the_limit() -> None:
    series = LagSeries()
    for at, lag in enumerate([1, 7, 4, 6, 4, 1]):
        series.note(at, lag)
    assert series.caught_up_at(5) == 4
    series.note(6, 9)
    assert series.caught_up_at(5) is None
    assert (series.until(5).lag, series.since(5).lag) == ([1, 7, 4, 6, 4], [1, 9])


def test_quantiles_of_counted_values() -> None:
    counts = Counter({10: 98, 50: 1, 900: 1})
    assert (quantile(counts, 0.5), quantile(counts, 0.98), quantile(counts, 0.99)) == (10, 50, 900)
    assert quantile(Counter(dict.fromkeys(range(0), 0)), 0.5) == 0


def test_the_asked_meters_are_spread_over_all() -> None:
    assert list(spread(10, 3)) == [0, 4, 8]
    assert list(spread(3, 200)) == [0, 1, 2]


def a_good_run() -> Measured:
    flat = LagSeries(list(map(float, range(60))), [8.0] * 60)
    return Measured(
        100,
        500,
        seconds=60.0,
        sent=6000,
        published=8000,
        readings=LagSeries([0.0], [0.1]),
        tables=flat,
        page_ms=[40] * 480,
        page_expected=480,
        arrived=Arrived(raw=8000, readings=7999, dead_letters=1, latencies_ms=Counter({20: 6000})),
        up_to_date=(500, 500),
        in_lake=7999,
        restarts={"pipeline": 0},
    )


def test_a_good_run_holds_every_limit() -> None:
    rows = verdicts(a_good_run(), Limits())
    assert [row.name for row in rows if not row.reached] == []
    assert [row.name for row in rows] == [
        "published",
        "readings behind, p99",
        "waiting at the end",
        "page behind, maximum",
        "shown by the page",
        "tables behind, maximum",
        "growth of that",
        "arrived in readings",
        "last message in the tables",
        "in the lake",
        "started again",
    ]


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"sent": 5900}, "published"),
        ({"arrived": Arrived(8000, 8000, 0, 0, Counter({20: 5900, 1500: 100}))}, "readings behind, p99"),
        ({"arrived": None, "readings": LagSeries([0.0], [1.2])}, "readings behind, p99"),
        ({"waiting": 101}, "waiting at the end"),
        ({"page_ms": [40] * 480 + [2001]}, "page behind, maximum"),
        ({"page_ms": [40] * 400}, "shown by the page"),
        ({"page_ms": []}, "shown by the page"),
        ({"tables": LagSeries([0.0], [60.5])}, "tables behind, maximum"),
        ({"tables": LagSeries([0.0, 1.0, 2.0], [5.0, 9.0, 21.0])}, "growth of that"),
        ({"slots": {900: 61.0}}, "quarter-hours behind"),
        ({"slots": {900: None}}, "quarter-hours"),
        ({"arrived": Arrived(7999, 7999, 0)}, "arrived in readings"),
        ({"arrived": Arrived(8000, 7998, 1)}, "arrived in readings"),
        ({"up_to_date": (499, 500)}, "last message in the tables"),
        ({"in_lake": 7998}, "in the lake"),
        ({"restarts": {"pipeline": 1}}, "started again"),
        ({"ended": "Kafka does not answer"}, "run"),
        ({"sent": 0}, "run"),
    ],
)
def test_each_limit_that_is_missed_is_told(change: dict[str, object], row: str) -> None:
    found = a_good_run()
    for name, value in change.items():
        setattr(found, name, value)
    assert row in [each.name for each in verdicts(found, Limits()) if not each.reached]


def test_the_result_shows_the_run_that_decided() -> None:
    runs = [
        Run(found, report_of(found, Limits()), decides) for found, decides in ((a_good_run(), False),) * 2
    ]
    runs[1].decides = True
    runs[0].measured.rate = 50
    result = Result(runs, found=100)
    assert result.shown is runs[1]
    assert json.loads(json.dumps(result.as_dict()))["runs"][0]["held"] is True
    assert Result().as_dict() == {"sustained": None, "interrupted": False, "runs": []}


def test_people_see_every_row_the_processor_time_by_part_and_the_rates_that_were_tried(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    failed, good = a_good_run(), a_good_run()
    failed.ended, failed.rate = "readings 12 s behind", 200
    good.used = Snapshot({"Kafka": 6.0, "bridge": 0.6}, {"Kafka": {"compiling": 0.6}}, 9.0, 111.0)
    runs = [
        Run(found, report_of(found, Limits()), decides) for found, decides in ((failed, False), (good, True))
    ]
    _show(Result(runs, found=100), as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "200 60 s readings 12 s behind" in lines
    for row in ("Kafka 1,000.0 10 %", "compiling 100.0 1 %", "everything else on this machine 400.0 4 %"):
        assert row in lines
    assert {"processors idle, %: 92.5", "processors used by others, %: 2.0"} <= set(lines)
    assert all(any(line.startswith(row.name) for line in lines) for row in runs[1].report.measures)
    assert lines[-1] == "Sustained: 100 messages a second."


def test_more_meters_than_the_load_can_have_are_refused() -> None:
    assert Plan().meters_at(2000) == 10_000
    with pytest.raises(StromError, match="too many"):
        Plan(meters=MOST_METERS + 1).meters_at(10)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "strom", "bench", "sustained", *words]


@pytest.mark.stack
@pytest.mark.timeout(600)
def test_a_small_run_reports_every_row_and_loses_nothing(tmp_path: Path) -> None:
    found = subprocess.run(
        command("--rate", "50", "--seconds", "5", "--quick", "--json"),
        env=Settings(home=tmp_path).child_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout, found.stderr
    told = json.loads(found.stdout)
    rows = {row["name"]: row for row in told["measures"]}
    assert list(rows) == [row.name for row in verdicts(a_good_run(), Limits())]
    for name in ("arrived in readings", "last message in the tables", "in the lake"):
        assert rows[name]["ratio"] == 1, found.stderr
    used = {name.partition(", µs")[0] for name in told["figures"] if "µs of processor" in name}
    parts = {name for name in used if ":" not in name}
    assert {"pipeline, JVM: compiling", "pipeline, JVM: tasks"} <= used
    assert parts == {
        "Kafka",
        "Mosquitto",
        "Postgres",
        "bridge",
        "pipeline, JVM",
        "pipeline, Python",
        "page",
        "load generator",
        "supervisor and measuring",
        "everything else on this machine",
    }
    assert told["figures"]["messages published and confirmed in all"] >= 50 * 5
    assert "readings caught up after the start, s" in told["figures"]
    assert found.returncode == (0 if told["reached"] else 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.stack
@pytest.mark.timeout(600)
def test_ctrl_c_tells_what_was_measured_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("--rate", "50", "--quick", "--json"),
        env=Settings(home=tmp_path).child_environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        measuring = next((line for line in process.stderr if ", measuring" in line), None)
        process.send_signal(signal.SIGINT)
        told = json.loads(process.stdout.read())
        rest = process.stderr.read()
    assert measuring is not None, rest
    assert (process.returncode, told["interrupted"], told["sustained"]) == (130, True, None), rest
    rows = {row["name"]: row for row in told["measures"]}
    assert rows["run"]["detail"] == "interrupted"
    assert rows["arrived in readings"]["ratio"] == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.stack
@pytest.mark.timeout(600)
def test_ctrl_c_while_the_stack_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("--rate", "50"),
        env=Settings(home=tmp_path).child_environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        starting = next((line for line in process.stderr if "starting the stack" in line), None)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert starting is not None, rest
    assert process.returncode == 130, rest
    assert list(tmp_path.iterdir()) == []
