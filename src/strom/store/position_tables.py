"""How far each pass over the lake is, and each meter: what is settled is in the tables, the rest waits in the lake."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strom.store.writes import Work

ARRIVALS, SETTLEMENT = "arrivals", "settlement"  # the passes
NOTHING_SETTLED = -(2**62)  # before every time


@dataclass(frozen=True, slots=True)
class LakePosition:
    """Readings of versions after `version` are new to the pass; `settled_ms`: readings before this time are settled."""

    version: int = -1
    settled_ms: int = NOTHING_SETTLED


@dataclass(frozen=True, slots=True)
class Settled:
    """The time of a meter's newest settled reading."""

    newest: int


def load_position(work: Work, name: str) -> LakePosition:
    found = work.rows("SELECT version, settled FROM lake_positions WHERE pass = %s", name)
    return LakePosition(*found[0]) if found else LakePosition()


def save_position(work: Work, name: str, position: LakePosition) -> None:
    work.execute(
        "INSERT INTO lake_positions VALUES (%s, %s, %s) "
        "ON CONFLICT (pass) DO UPDATE SET version = excluded.version, settled = excluded.settled",
        *(name, position.version, position.settled_ms),
    )


def load_settled(work: Work, meters: Iterable[str]) -> dict[str, Settled]:
    found = work.rows("SELECT meter, newest FROM settled_meters WHERE meter = ANY(%s)", list(meters))
    return {meter: Settled(newest) for meter, newest in found}


def save_settled(work: Work, settled: Mapping[str, Settled]) -> None:
    work.stage(
        "new_settled", "LIKE settled_meters", ((meter, each.newest) for meter, each in settled.items())
    )
    work.execute(
        "INSERT INTO settled_meters SELECT * FROM new_settled "
        "ON CONFLICT (meter) DO UPDATE SET newest = excluded.newest"
    )
