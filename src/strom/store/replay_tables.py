"""How far a replay into a set of tables is, so that it can be stopped and go on."""

from dataclasses import dataclass

from strom.store.mark_tables import LAKE, Mark, load_marks, save_marks
from strom.store.writes import Work

SWAPPED = "swapped"  # the plan of tables that were live until others took their place
_FIELDS = "plan, source, lake_version, position, readings, whole, complete"


@dataclass(frozen=True, slots=True)
class Progress:
    """`position`: the time (epoch ms as text) or the meter up to which all is done; empty at the beginning."""

    plan: str
    source: str
    lake_version: int | None  # up to which the lake is in; in place there is no such version
    position: str
    readings: int
    whole: bool
    complete: bool


def load_progress(work: Work) -> list[Progress]:
    """The replays into these tables, the last one first."""
    query = f"SELECT {_FIELDS} FROM pipeline_replays ORDER BY updated DESC"  # noqa: S608 - the names above
    return [Progress(*row) for row in work.rows(query)]


def save_progress(work: Work, progress: Progress) -> None:
    work.execute(
        f"""
        INSERT INTO pipeline_replays ({_FIELDS}) VALUES (%s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (plan) DO UPDATE SET lake_version = excluded.lake_version, position = excluded.position,
            readings = excluded.readings, complete = excluded.complete, updated = clock_timestamp()
        """,  # noqa: S608
        *(progress.plan, progress.source, progress.lake_version, progress.position),
        *(progress.readings, progress.whole, progress.complete),
    )


def jobs_with_marks(work: Work) -> list[str]:
    return [job for (job,) in work.rows("SELECT DISTINCT job FROM pipeline_marks")]


def save_lake_marks(work: Work, jobs: list[str], marks: list[Mark]) -> None:
    """These tables hold what the lake held at these marks, whichever stages go on from here."""
    for job in {*jobs, LAKE}:
        save_marks(work, job, marks)


def lake_marks(work: Work) -> list[Mark]:
    return load_marks(work, LAKE)
