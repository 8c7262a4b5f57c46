"""Late readings stay within bounds: of memory when very many meters are late at once, of files when a meter's clock stands."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.outbox import Outbox
from strom.pipeline.process import shards
from strom.pipeline.process.settlement import Settlement
from strom.pipeline.process.shards import Shards
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.store.position_tables import Step, begin_step, load_waiting, save_waiting
from strom.store.writes import Work, Writer
from tests.pipeline.batches import START, Sent, batch, fetch, numbered, reading
from tests.pipeline.expected_tables import assert_tables_are_the_function_of
from tests.pipeline.spark_metrics import lake_files_read

pytestmark = pytest.mark.stack
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
METERS = 1_500
MOST_WAITING, MOST_LINES = 200, 20_000


class Measured(Settlement):
    """Notes how many characters of lines it was given at once."""

    folder: Path

    def evaluate(
        self, work: Work, outbox: Outbox, rows: Iterable[Sequence[str]], asked: Mapping[str, str]
    ) -> dict[str, str]:
        piece = list(rows)
        longest = max((len(row[1]) for row in piece), default=0)
        with (self.folder / "pieces").open("a") as file:
            file.write(f"{sum(len(row[1]) for row in piece)} {longest}\n")
        return super().evaluate(work, outbox, piece, asked)


def measured(settings: Settings, *, folder: Path, watches: bool, again: bool) -> Measured:
    found = Measured(settings, watches=watches, again=again)
    found.folder = folder
    return found


def test_very_many_meters_that_are_a_day_late_are_held_in_pieces(
    own: Settings, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a shard's Python nor the driver holds more when more meters are late."""
    monkeypatch.setattr(shards, "MOST_WAITING", MOST_WAITING)
    monkeypatch.setattr(shards, "MOST_LINES", MOST_LINES)
    rounds: list[int] = []

    def waiting(self: Shards, writer: Writer, step: Step) -> dict[str, str]:
        with writer.work() as work:
            found = load_waiting(work, step, shards.MOST_WAITING, shards.MOST_NEEDS)
        rounds.append(len(found))
        return found

    monkeypatch.setattr(Shards, "_waiting", waiting)
    job = StoreJob(own, spark, tells=False, passes=False)
    monkeypatch.setattr(job._over, "_settlement", partial(measured, folder=tmp_path, watches=True))
    times = (0, 10 * MINUTE, 20 * MINUTE, 40 * MINUTE, DAY, DAY + 20 * MINUTE)
    names = [f"m{number}" for number in range(METERS)]
    timely = [reading(name, START + at, import_wh=at / HOUR * 100) for at in times for name in names]
    sent = numbered(timely)
    job.process(batch(spark, sent), 0)
    job.settle()
    late = [reading(name, START + 15 * MINUTE, import_wh=25) for name in names]
    came = numbered(
        [Sent(each.meter, each.at, each.numbers, timely[-1].received + 1) for each in late], len(sent)
    )
    rounds.clear()
    job.process(batch(spark, came), 1)
    job.settle()
    job.close()
    assert max(rounds) == MOST_WAITING
    assert sum(rounds) >= METERS
    pieces = [tuple(map(int, line.split())) for line in (tmp_path / "pieces").read_text().splitlines()]
    assert all(size < MOST_LINES + longest for size, longest in pieces)
    some = {f"m{number}" for number in range(0, METERS, 97)}
    own_rows = fetch(own, "SELECT meter, count(*) FROM load_profile WHERE version > 1 GROUP BY meter")
    assert len(own_rows) == METERS
    assert some <= {meter for meter, _ in own_rows}
    assert_tables_are_the_function_of(own, spark, [*sent, *came])


def test_what_the_waiting_need_is_bounded_too(own: Settings) -> None:
    with Writer(own.postgres_url) as writer, writer.work() as work:
        step = begin_step(work, "settlement-test", None, 1)
        save_waiting(work, step, {f"m{number}": "x" * 100 for number in range(9)})
        assert len(load_waiting(work, step, 5, 10_000)) == 5
        assert len(load_waiting(work, step, 9, 250)) == 3
        assert list(load_waiting(work, step, 9, 1)) == ["m0"]


def test_a_meter_whose_clock_stands_years_ago_costs_the_others_nothing(
    own: Settings, spark: SparkSession
) -> None:
    """Its readings are set aside; the others' late readings open no more files for it."""
    long_ago = START - 5 * 365 * DAY
    job = StoreJob(own, spark, tells=False, passes=False)
    names = [f"m{number}" for number in range(5)]
    count = 0
    kept: list[Sent] = []

    def come(number: int, *, standing: bool) -> int:
        """Two hours, with late readings of half a day before; returns the files that were read."""
        nonlocal count
        begin = START + number * 2 * HOUR
        readings = [
            reading(name, begin + n * 10 * MINUTE, import_wh=(begin - START) / HOUR * 60 + n * 10)
            for n in range(12)
            for name in names
        ]
        now = readings[-1].received
        if number > 8:
            at = begin - 12 * HOUR + 5 * MINUTE
            readings += [Sent(name, at, {"import_wh": (at - START) / HOUR * 60}, now + 1) for name in names]
        if standing:
            readings += [Sent("standing", long_ago + n, {"import_wh": 1}, now + 2) for n in range(3)]
        sent = numbered(readings, count)
        count += len(sent)
        kept.extend(sent)

        def work() -> None:
            job.process(batch(spark, sent), number)
            job.settle()

        return lake_files_read(spark, work)

    for number in range(9):
        come(number, standing=False)
    without = [come(number, standing=False) for number in range(9, 12)]
    with_it = [come(number, standing=True) for number in range(12, 15)]
    job.close()
    # Each pass over what arrived opens the one file of its readings, too, wherever it reads what arrived.
    opened = with_it[-1] - with_it[0]
    assert opened <= without[-1] - without[0]
    assert with_it[0] - without[-1] <= 4
    assert fetch(own, "SELECT count(*) FROM late_readings WHERE meter = 'standing'") == [(9,)]
    assert fetch(own, "SELECT count(*) FROM load_profile WHERE meter = 'standing'") == [(0,)]
