"""How far each raw partition has been taken into the tables; knows nothing of readings."""

from collections.abc import Iterable
from dataclasses import dataclass

from strom.store.writes import Work

LAKE = "lake"  # whose marks tell what the lake holds
TABLES = "tables"  # and these, what the tables do: nothing before them waits for its time


@dataclass(frozen=True, slots=True)
class Mark:
    """The highest raw offset that came by way of this partition of the readings topic, and the newest arrival."""

    topic: str
    raw_partition: int
    partition: int
    raw_offset: int
    received: int


def load_marks(work: Work, job: str) -> list[Mark]:
    query = "SELECT topic, raw_partition, partition, raw_offset, received FROM pipeline_marks WHERE job = %s"
    return [Mark(*row) for row in work.rows(query, job)]


def save_marks(work: Work, job: str, marks: Iterable[Mark]) -> None:
    """The offset is the new one (a topic made anew begins at 0 again); the arrival only grows."""
    for mark in marks:
        work.execute(
            """
            INSERT INTO pipeline_marks VALUES (%s, %s, %s, %s, %s, %s)
            ON CONFLICT (job, topic, raw_partition, partition) DO UPDATE
            SET raw_offset = excluded.raw_offset, received = greatest(pipeline_marks.received, excluded.received)
            """,
            *(job, mark.topic, mark.raw_partition, mark.partition, mark.raw_offset, mark.received),
        )
