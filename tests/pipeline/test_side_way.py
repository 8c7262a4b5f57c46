"""Large messages in parts and other dialects, from the raw topic to the lake: each reading once, whatever is killed and repeated."""

import random
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from strom.devices.registry import DIALECTS, Dialect
from strom.domain.reading import Rejected, time_text
from strom.errors import StromError
from strom.pipeline.batch_states import BatchStates
from strom.pipeline.job import Pipeline
from strom.pipeline.large import LargeMessages
from strom.pipeline.parts import Outcome
from strom.settings import PartsSettings, Settings
from strom.stack.supervisor import Stack
from strom.streams import topics
from strom.streams.chunks import split
from strom.streams.dead_letters import Wanted, dead_letters
from strom.streams.producer import open_producer
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from tests.conftest import settings_in
from tests.pipeline.crashing import CrashError
from tests.pipeline.passing import TIME_S, message
from tests.streams.writing import SECONDS, strom

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

Sent = tuple[bytes, dict[str, str]]  # value and headers
EVERYTHING = Wanted()
PATIENT = PartsSettings(wait_seconds=3600)
HASTY = PartsSettings(wait_seconds=0.001)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with Stack(settings_in(tmp_path_factory.mktemp("side") / "home"), ["kafka", "postgres"]) as stack:
        yield stack.settings.model_copy(update={"parts": PATIENT})


@pytest.fixture(autouse=True)
def knocking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialect that counts knocks; made here, so that the executors get it and not its name."""

    def knocks(
        payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
    ) -> dict[str, Any]:
        if b"knock" not in payload:
            raise Rejected("no-known-register")
        at = time_text(received_ms)
        meter = payload.decode().split()[0]
        return {"v": 1, "meter": meter, "at": at, "received": at, "source": source, "clock": "received"}

    monkeypatch.setitem(DIALECTS, "knocking", Dialect("knocking", knocks, ""))


def large(name: str, pieces: int = 4, **more: Any) -> list[Sent]:
    """A message of an adapter in parts."""
    value = message(name, filler="x" * 1000, **more)
    limit = -(-len(value) // pieces)
    return [(piece, {"strom-part": part.header.decode()}) for part, piece in split(value, limit)]


def knock(name: str, knocks: int = 1) -> Sent:
    return f"{name} {'knock' * knocks}".encode(), {"strom-dialect": "knocking"}


def native(name: str) -> Sent:
    return message(name), {"strom-dialect": "adapter_json"}


def send(settings: Settings, sent: Sequence[Sent], key: str = "haus") -> None:
    """As a door writes them: all of one adapter have one key, and hence one partition."""
    producer = open_producer(settings, "strom-test")
    for number, (value, headers) in enumerate(sent):
        told = {"strom-source": "http", "strom-received": str(TIME_S * 1000 + number)} | headers
        producer.produce(topics.RAW, value, key.encode(), headers=list(told.items()))
    assert producer.flush(SECONDS) == 0


def run(settings: Settings, spark: SparkSession) -> None:
    assert Pipeline(settings).catch_up(spark)


def passed_on_again(settings: Settings) -> None:
    """`normalise` begins anew: everything comes a second time, to the side as well."""
    shutil.rmtree(Path(settings.checkpoint_root) / "normalise")


def lake(settings: Settings, spark: SparkSession) -> Counter[str]:
    rows = spark.read.format("delta").load(f"{settings.lake_root}/readings").collect()
    return Counter(row.meter for row in rows)


def letters(settings: Settings) -> Counter[tuple[str, bytes]]:
    return Counter((each.reason, each.record.value or b"") for each in dead_letters(settings, EVERYTHING))


def assert_marks_tell_repeats(settings: Settings) -> None:
    """No reading stands behind one of a higher offset of its raw partition and way, unless it has come before."""
    marks: dict[tuple[int, str], int] = {}
    first: set[tuple[int, str]] = set()
    with Records(settings, [topics.READINGS], start=EARLIEST, until_end=True) as records:
        for record in records:
            origin = record.header(topics.HEADER_ORIGIN) or ""
            way, _, offset = origin.rpartition("/")
            if int(offset) > marks.get((record.partition, way), -1):
                marks[record.partition, way] = int(offset)
                first.add((record.partition, origin))
            assert (record.partition, origin) in first
    assert {way.partition("/")[0] for _, way in marks} == {topics.RAW, topics.WAY_SIDE, topics.WAY_PARTS}


def test_each_reading_counts_once_however_parts_are_shuffled_repeated_and_cut_off(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    whole = [large(f"large-{number}") for number in range(5)]
    missing = large("missing")
    unreadable = [(piece, headers | {"strom-dialect": "knocking"}) for piece, headers in large("unreadable")]
    others = [knock(f"knock-{number}") for number in range(20)] + [
        native(f"native-{number}") for number in range(20)
    ]
    parts = [part for each in whole for part in each]
    sent = [*parts, *chance.sample(parts, 5), *missing[1:], *unreadable, *others, knock("nobody", knocks=0)]
    chance.shuffle(sent)
    send(settings, sent)

    with monkeypatch.context() as killed:
        sends = iter(range(3))

        def cut_off(self: LargeMessages, outcome: Outcome) -> None:
            if next(sends, None) is None:
                raise CrashError
            send_on(self, outcome)

        send_on = LargeMessages.send
        killed.setattr(LargeMessages, "send", cut_off)
        with pytest.raises(StromError, match="the query side ended"):
            run(settings, spark)
    with monkeypatch.context() as killed:
        killed.setattr(BatchStates, "save", _crash)
        with pytest.raises(StromError, match="the query side ended"):
            run(settings, spark)
    run(settings, spark)
    passed_on_again(settings)
    run(settings, spark)

    names = [
        f"{kind}-{number}"
        for kind, most in (("large", 5), ("knock", 20), ("native", 20))
        for number in range(most)
    ]
    assert lake(settings, spark) == Counter(names)
    assert_marks_tell_repeats(settings)
    refused = Counter([("no-known-register", value) for value, _ in [*unreadable, knock("nobody", knocks=0)]])
    assert letters(settings) == refused

    run(settings.model_copy(update={"parts": HASTY}), spark)
    passed_on_again(settings)
    run(settings.model_copy(update={"parts": HASTY}), spark)
    bad = Counter([("bad-chunk", value) for value, _ in missing[1:]])
    assert letters(settings) == refused + bad
    assert lake(settings, spark) == Counter(names)


def _crash(*_: object) -> None:
    raise CrashError


def test_parts_that_waited_in_vain_are_put_together_when_the_missing_one_has_come_and_they_are_redriven(
    settings: Settings, spark: SparkSession
) -> None:
    parts = large("redriven")
    send(settings, parts[:-1])
    run(settings.model_copy(update={"parts": HASTY}), spark)
    assert lake(settings, spark)["redriven"] == 0
    send(settings, parts[-1:])
    assert strom(settings, "dead-letters", "redrive", "--reason", "bad-chunk").returncode == 0
    run(settings, spark)
    assert lake(settings, spark)["redriven"] == 1
    passed_on_again(settings)
    run(settings, spark)
    assert lake(settings, spark)["redriven"] == 1


def test_parts_of_what_could_not_be_read_are_read_when_they_are_redriven_after_a_fix(
    settings: Settings, spark: SparkSession
) -> None:
    value = message("later", filler="x" * 1000)
    parts = [
        (piece, {"strom-part": part.header.decode(), "strom-dialect": "knocking"})
        for part, piece in split(value, 400)
    ]
    send(settings, parts)
    run(settings, spark)
    assert lake(settings, spark)["later"] == 0
    DIALECTS["knocking"] = Dialect("knocking", DIALECTS["adapter_json"].decode, "")
    assert strom(settings, "dead-letters", "redrive", "--reason", "no-known-register").returncode == 0
    run(settings, spark)
    assert lake(settings, spark)["later"] == 1


def test_what_somebody_else_wrote_to_the_side_is_left_out_and_told(
    settings: Settings, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    producer = open_producer(settings, "strom-test")
    producer.produce(topics.SIDE, message("stranger"), b"stranger", partition=2)
    assert producer.flush(SECONDS) == 0
    run(settings, spark)
    assert lake(settings, spark)["stranger"] == 0
    told = [record.getMessage() for record in caplog.records if "not written by normalise" in record.msg]
    assert len(told) == 1
    assert told[0].startswith("1 records in sma-kafka.side were not written by normalise and were left out, ")
