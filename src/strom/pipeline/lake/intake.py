"""Takes micro-batches of `readings` into the lake, each reading once: the marks of each append tell a repeat."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from strom.pipeline.fresh import each_once, fresh_readings, reached_marks
from strom.pipeline.held import held
from strom.pipeline.lake.archive import Archive
from strom.pipeline.lake.commit_marks import later_marks, moved
from strom.store.mark_tables import LAKE, load_marks, save_marks
from strom.store.writes import Writer


@dataclass(frozen=True, slots=True)
class Appended:
    """What one batch brought: how many readings, how many of them too late or before a time, the newest ones (epoch ms), whether any counts by tariff."""

    count: int
    too_late: int
    before: int
    newest: int | None
    arrived: int | None
    has_tariffs: bool


class Intake:
    """The lake is one, whichever stages run together: what another job of ours has put there stays out.

    Postgres keeps the marks of all partitions, each commit of the lake those that it moved. A process that is killed
    between the two finds the commit's marks.
    """

    def __init__(self, archive: Archive, writer: Writer, late_ms: int) -> None:
        self._archive = archive
        self._writer = writer
        self._late_ms = late_ms

    def take(self, batch: DataFrame, before_ms: int) -> Appended:
        """Append what is new. The writer must keep others out meanwhile; no transaction is open while Spark reads."""
        with self._writer.work() as work:
            stored = load_marks(work, LAKE)
        known = later_marks(stored, self._archive.newest_marks())
        with held(fresh_readings(batch, known)) as fresh:
            reached = reached_marks(fresh, self._late_ms, before_ms)
            rows = each_once(fresh) if reached.repeated else fresh
            marks = moved(known, reached.marks)
            self._archive.append(rows, reached.count, marks)
        with self._writer.work() as work:
            save_marks(work, LAKE, [*(set(known) - set(stored)), *marks])
        return Appended(
            reached.count, reached.late, reached.before, reached.newest,
            max((mark.received for mark in reached.marks), default=None), reached.has_tariffs,
        )  # fmt: skip
