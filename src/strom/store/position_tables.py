"""How far each pass over the lake is, and each meter: what is settled is in the tables, the rest waits in the lake.

A pass goes in steps, from one position to the next. A step is divided into shards, each of which commits its rows
together with the note that it is done; a step that was interrupted is gone on with to the very same position.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strom.errors import StromError
from strom.store.writes import Work, texts_of

ARRIVALS, SETTLEMENT = "arrivals", "settlement"  # the passes
NOTHING_SETTLED = -(2**62)  # before every time


@dataclass(frozen=True, slots=True)
class LakePosition:
    """Readings of versions after `version` are new to the pass; `settled_ms`: readings before this time are settled."""

    version: int = -1
    settled_ms: int = NOTHING_SETTLED


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt at a step of a pass; `target` is None where nothing is noted but what the tables themselves tell."""

    name: str
    before: LakePosition
    target: LakePosition | None
    shards: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The time of a meter's newest settled reading, and a digest of its values; None: not known."""

    newest: int
    last: int | None = None


def load_position(work: Work, name: str) -> LakePosition:
    """Where the last step that is complete has led."""
    found = work.rows("SELECT version, settled FROM lake_positions WHERE pass = %s", name)
    return LakePosition(*found[0]) if found else LakePosition()


def save_position(work: Work, name: str, position: LakePosition) -> None:
    """A step that was under way is given up."""
    work.execute(
        "INSERT INTO lake_positions VALUES (%s, %s, %s) ON CONFLICT (pass) DO UPDATE SET version = excluded.version, "
        "settled = excluded.settled, next_version = NULL, next_settled = NULL, shards = NULL",
        *(name, position.version, position.settled_ms),
    )


def begin_step(work: Work, name: str, target: LakePosition | None, shards: int) -> Step:
    """An attempt at the step that was interrupted, if there is one, else at one that leads to `target`.

    Whoever is still at work on an earlier attempt, of whatever pass, commits first or not at all.
    """
    nothing = LakePosition()
    work.execute(
        "INSERT INTO lake_positions VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        *(name, nothing.version, nothing.settled_ms),
    )
    # By the clock: another set of tables that a replay has put in the place of these has other epochs.
    work.execute(
        "UPDATE lake_positions SET epoch = greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
    )
    ((version, settled, to_version, to_settled, of, epoch),) = work.rows(
        "SELECT version, settled, next_version, next_settled, shards, epoch FROM lake_positions WHERE pass = %s",
        name,
    )
    before = LakePosition(version, settled)
    if to_version is not None:
        return Step(name, before, LakePosition(to_version, to_settled), of, epoch)
    if target is not None:
        work.execute(
            "UPDATE lake_positions SET next_version = %s, next_settled = %s, shards = %s WHERE pass = %s",
            *(target.version, target.settled_ms, shards, name),
        )
    work.execute("DELETE FROM lake_shards WHERE pass = %s", name)
    work.execute("DELETE FROM waiting_meters WHERE pass = %s", name)
    return Step(name, before, target, shards, epoch)


def is_interrupted(work: Work, name: str) -> bool:
    """Whether a step has begun and not ended."""
    return bool(work.rows("SELECT FROM lake_positions WHERE pass = %s AND next_version IS NOT NULL", name))


def end_step(work: Work, step: Step) -> None:
    """All of its shards are done, and nobody waits."""
    if step.target is not None:
        save_position(work, step.name, step.target)


def enter_shard(work: Work, step: Step, shard: int, turn: int) -> bool:
    """Whether this shard is still to be done; what follows in this transaction belongs to it.

    `turn`: 0 for all meters of the shard, then 1, 2, … for those that wait. Spark may run a task again whose end it has not
    heard of, or twice at once: one attempt waits for the other here and finds what was committed. An attempt at the step
    that another one has followed is refused.
    """
    found = work.rows("SELECT epoch FROM lake_positions WHERE pass = %s FOR SHARE", step.name)
    if found != [(step.epoch,)]:
        raise StromError(
            "another pipeline has taken over; what was under way here was left to it.", exit_code=1
        )
    # A row that is not there yet could not be locked.
    work.execute(
        "INSERT INTO lake_shards VALUES (%s, %s, %s, -1) ON CONFLICT DO NOTHING", step.name, shard, step.epoch
    )
    ((epoch, done),) = work.rows(
        "SELECT epoch, turn FROM lake_shards WHERE pass = %s AND shard = %s FOR UPDATE", step.name, shard
    )
    # The turns of an earlier attempt at the step were about other meters, but for the first.
    return bool(done < turn) if epoch == step.epoch else turn > 0


def leave_shard(work: Work, step: Step, shard: int, turn: int) -> None:
    """Note with its rows that they are written."""
    work.execute(
        "UPDATE lake_shards SET epoch = %s, turn = %s WHERE pass = %s AND shard = %s",
        *(step.epoch, turn, step.name, shard),
    )


def save_waiting(work: Work, step: Step, needs: Mapping[str, str]) -> None:
    """Meters of this step that are not done yet, with what they need."""
    if needs:
        work.execute(
            "INSERT INTO waiting_meters SELECT %s, u.* FROM unnest(%s::text[], %s::text[]) AS u "
            "ON CONFLICT (pass, meter) DO UPDATE SET need = excluded.need",
            *(step.name, texts_of(needs), texts_of(needs.values())),
        )


def load_waiting(work: Work, step: Step, most: int, most_characters: int) -> dict[str, str]:
    """At most so many of them, and no more than need so many characters; one at least."""
    return dict(
        work.rows(
            "SELECT meter, need FROM (SELECT meter, need, sum(length(need)) OVER (ORDER BY meter) - length(need) AS before "
            "FROM (SELECT meter, need FROM waiting_meters WHERE pass = %s ORDER BY meter LIMIT %s) w) w "
            "WHERE before < %s",
            *(step.name, most, most_characters),
        )
    )


def take_waiting(work: Work, step: Step, meters: Iterable[str]) -> dict[str, str]:
    """Those of these meters that still wait; they do no longer when this is committed."""
    return dict(
        work.rows(
            "DELETE FROM waiting_meters WHERE pass = %s AND meter = ANY(%s) RETURNING meter, need",
            *(step.name, texts_of(meters)),
        )
    )


def drop_waiting(work: Work, step: Step, needs: Mapping[str, str]) -> None:
    """Those of these meters that still wait for the very same."""
    work.execute(
        "DELETE FROM waiting_meters w USING unnest(%s::text[], %s::text[]) AS u(meter, need) "
        "WHERE w.pass = %s AND w.meter = u.meter AND w.need = u.need",
        *(texts_of(needs), texts_of(needs.values()), step.name),
    )


def load_settled(work: Work, meters: Iterable[str]) -> dict[str, Settled]:
    found = work.rows(
        "SELECT meter, newest, last FROM settled_meters WHERE meter = ANY(%s)", texts_of(meters)
    )
    return {meter: Settled(newest, last) for meter, newest, last in found}


def save_settled(work: Work, settled: Mapping[str, Settled]) -> None:
    work.stage(
        "new_settled",
        "LIKE settled_meters",
        ((meter, each.newest, each.last) for meter, each in settled.items()),
    )
    work.execute(
        "INSERT INTO settled_meters SELECT * FROM new_settled "
        "ON CONFLICT (meter) DO UPDATE SET newest = excluded.newest, last = excluded.last"
    )
