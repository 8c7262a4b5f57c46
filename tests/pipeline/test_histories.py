"""Whatever the order, the cuts, the repeats and the crashes: after each batch the tables are the pure function of the readings.

Hundreds of meters, each with a random history of its own, go through the job at once; nothing is told to Kafka.
`--history-seeds` and `--histories` let more of them go through; a seed that fails is in the name of the test.
"""

import random
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from tests.pipeline.batches import Sent, batch, fetch
from tests.pipeline.crashing import CrashError, crash
from tests.pipeline.expected_tables import Stored, assert_same, assert_tables_are_the_function_of
from tests.pipeline.histories import arrivals, grouped

pytestmark = [pytest.mark.stack, pytest.mark.timeout(1800)]
PARTS = (0.35, 0.0, 0.3, 0.2)  # of what is left, then all of it; 0 is a batch of one reading
KILLED_BEFORE = (  # the marks of what the lake has got, the position of either pass
    "strom.pipeline.lake.intake.save_marks",
    "strom.pipeline.store_job.end_step",
)
ENOUGH = 100  # of so many histories some have each event


def versions(before: Stored, after: Stored) -> dict[tuple[str, int], int]:
    """What they must be after a batch: one more where it changed something."""
    return {
        key: (old.version + (old.row != stored.row)) if (old := before.get(key)) else 1
        for key, stored in after.items()
    }


def test_after_each_batch_the_tables_are_the_function_of_what_has_come(
    own: Settings, spark: SparkSession, random_histories: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sometimes all is settled behind a batch, sometimes what is due; with every second seed in portions of meters."""
    seed, meters = random_histories
    own = grouped(own)
    monkeypatch.setattr(
        "strom.pipeline.process.shards.MOST_LINES", 300 * meters if seed % 2 == 0 else 12_000_000
    )
    chance, sent = random.Random(seed), arrivals(seed, meters)
    job = StoreJob(own, spark, tells=False, passes=False)
    place, before = 0, Stored()

    def go_on(part: Sequence[Sent], number: int, until: int | None) -> None:
        job.process(batch(spark, part), number)
        job.settle(until)

    for number, share in enumerate([*chance.sample(PARTS, len(PARTS)), 1.0]):
        size = max(1, round(share * (len(sent) - place)))
        # What `normalise` repeats after a restart: some of what came before comes once more.
        part = sent[max(0, place - chance.choice([0, 0, 15])) : place + size]
        until = chance.choice([None, chance.choice(part).at]) if share < 1 else None
        if chance.random() < 0.5:
            with monkeypatch.context() as patch:
                patch.setattr(chance.choice(KILLED_BEFORE), crash)
                with pytest.raises(CrashError):
                    go_on(part, number, until)
            job = StoreJob(own, spark, tells=False, passes=False)
        for _ in range(chance.choice([1, 1, 2])):
            go_on(part, number, until)
        place += size
        after = assert_tables_are_the_function_of(own, spark, sent[:place], job.settled_ms)
        assert_same({key: each.version for key, each in after.items()}, versions(before, after))
        before = after
    job.close()
    assert place >= len(sent)
    if meters >= ENOUGH:
        assert_everything_happened(own)


def assert_everything_happened(settings: Settings) -> None:
    """A history without events proves nothing."""
    kinds = {"voltage", "phase-loss", "counter-back", "jump", "overload", "clock"}
    assert {kind for (kind,) in fetch(settings, "SELECT DISTINCT kind FROM alerts")} >= kinds
    for table, qualities in (("load_profile", {"calculated"}), ("tariff_profile", set[str]())):
        found = fetch(settings, f"SELECT DISTINCT quality FROM {table}")  # noqa: S608
        assert {quality for (quality,) in found} == {"measured", "substitute", "missing"} | qualities
        flags = fetch(settings, f"SELECT DISTINCT unnest(flags) FROM {table} ORDER BY 1")  # noqa: S608
        assert flags == [("export-jump",), ("export-reset",), ("import-jump",), ("import-reset",)]
