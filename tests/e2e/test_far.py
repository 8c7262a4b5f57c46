"""On three brokers and a Spark cluster: the same rows as in one process, whatever is killed, whenever."""

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.devices.adapter import Publisher
from strom.devices.simulator import Fleet, parse_kinds
from strom.devices.simulator.timeline import Timeline
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.reads import taken_in
from strom.streams import topics
from strom.streams.chunks import split
from strom.streams.inventory import topic_states
from tests.devices.samples import samples
from tests.e2e.by_the_rules import expected_rows, stored_rows
from tests.e2e.everything import (
    alerts_as_stored,
    alerts_as_told,
    assert_same,
    everything,
    whatever_the_batches,
)
from tests.e2e.far import Reference, beside, catching_up, far_settings, said
from tests.e2e.killing import carry_out, draw
from tests.e2e.raw import FIRST_MS, Raw, arrivals, put_raw
from tests.e2e.way import await_taken_in, outcomes, records, until

pytestmark = [pytest.mark.far, pytest.mark.timeout(1800)]

METERS, INTERVAL_S, STRETCH_MS = 10, 30.0, 6_000_000
ARRIVAL = ("at", "received")  # some samples are older than an arrival can be
STRETCHES = itertools.count()  # each seed goes on where the one before it has ended


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    parts = ["kafka", "mqtt", "postgres", "spark", "bridge", "pipeline"]
    with Stack(far_settings(tmp_path_factory.mktemp("far") / "home"), parts) as stack:
        yield stack


@pytest.fixture(scope="module")
def reference(far: Stack, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return Reference(far, spark, tmp_path_factory.mktemp("beside"))


def test_with_three_brokers_the_topics_have_three_copies_and_two_must_confirm(far: Stack) -> None:
    states = topic_states(far.settings, [topic.name for topic in topics.CONTRACT])
    assert {state.replication for state in states} == {3}
    assert {state.config["min.insync.replicas"] for state in states} == {"2"}


def test_kills_at_random_moments_lose_double_and_change_nothing(
    far: Stack, reference: Reference, spark: SparkSession, kills: tuple[int, int]
) -> None:
    seed, rounds = kills
    settings = far.settings
    far.resume("pipeline")
    before = {record.value for record in records(settings, topics.RAW)}
    start = FIRST_MS + STRETCH_MS * next(STRETCHES)
    end = start + STRETCH_MS
    sent = [push.payload for push in _fleet().readings(start, end, INTERVAL_S, history=True)]
    publisher = Publisher(
        _fleet(),
        settings,
        Timeline(start_ms=start, until_ms=end, history_interval_s=INTERVAL_S),
        rate=60.0,
    )
    sender = threading.Thread(target=publisher.run, args=(threading.Event(),), daemon=True)
    sender.start()
    carry_out(far, draw(seed, len(sent), rounds), lambda: publisher.progress.published)
    sender.join()
    assert publisher.progress.finished

    until(lambda: _all_arrived(settings), "an outcome of every raw record")
    await_taken_in(settings)
    far.halt("pipeline")

    assert {record.value for record in records(settings, topics.RAW)} - before == set(sent) - before
    assert alerts_as_told(settings) == alerts_as_stored(settings)
    found = everything(settings, spark)
    readings = [
        json.loads(outcome.value)
        for outcome in outcomes(settings).values()
        if outcome.topic == topics.READINGS
    ]
    assert len(found.lake) == len(readings)
    assert stored_rows(settings) == expected_rows(settings, readings)
    assert_same(whatever_the_batches(found), whatever_the_batches(reference.get()))


def test_a_worker_that_is_lost_in_the_middle_changes_no_row(
    far: Stack, reference: Reference, spark: SparkSession, tmp_path: Path
) -> None:
    far.halt("pipeline")
    if not records(far.settings, topics.RAW):
        put_raw(far.settings, arrivals(meters=METERS, hours=1.5, seed=5))
    expected = reference.get()
    settings = beside(far.settings, tmp_path / "lost", far.settings.spark_master)
    with catching_up(settings) as process:
        until(lambda: _is_under_way(settings), "the first readings in the tables")
        worker = far.kill("spark-worker-1")
        assert process.poll() is None, "it had ended before the worker was lost"
        assert process.wait() == 0, said(settings)
    far.await_ready("spark-worker-1", other_than=worker)
    assert_same(whatever_the_batches(everything(settings, spark)), whatever_the_batches(expected))


def test_other_dialects_and_large_messages_are_read_on_the_cluster(far: Stack, tmp_path: Path) -> None:
    far.halt("pipeline")
    others = [Raw(each.topic, each.payload, each.received_ms, each.dialect) for each in samples()]
    large = json.dumps({"name": "large", "1-0:1.8.0": {"value": 1}, "filler": "x" * 3_000}).encode()
    parts = [Raw("sma/large", piece, FIRST_MS, part=part) for part, piece in split(large, 1_000)]
    put_raw(far.settings, [*others, *parts])
    settings = beside(far.settings, tmp_path / "others", far.settings.spark_master)
    with catching_up(settings) as process:
        assert process.wait() == 0, said(settings)
    found = {outcome.payload: outcome for outcome in outcomes(settings).values()}
    for sample in samples():
        outcome = found[sample.payload]
        if "reason" in sample.expected:
            assert outcome.headers["strom-reason"] == sample.expected["reason"], sample
        else:
            reading = json.loads(outcome.value)
            expected = {name: value for name, value in sample.expected.items() if name not in ARRIVAL}
            assert {name: reading.get(name) for name in expected} == expected, sample
    assert json.loads(found[parts[-1].payload].value)["meter"] == "large"


def _fleet() -> Fleet:
    # A seed by which one of them counts tariffs.
    return Fleet(METERS, seed=11, faults=parse_kinds("all"), faults_from_ms=FIRST_MS)


def _all_arrived(settings: Settings) -> bool:
    return len(outcomes(settings)) == len(records(settings, topics.RAW))


def _is_under_way(settings: Settings) -> bool:
    return bool(taken_in(settings.postgres_url))
