"""Each shard of a step is written once, whoever tries it how often, and only by the newest attempt at the step."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from strom.errors import StromError
from strom.store.position_tables import (
    ARRIVALS,
    SETTLEMENT,
    LakePosition,
    Step,
    begin_step,
    end_step,
    enter_shard,
    leave_shard,
    load_waiting,
    save_waiting,
)
from strom.store.schema import ensure_schema
from strom.store.writes import Writer

pytestmark = pytest.mark.stack
TARGET = LakePosition(7, 900_000)
WAITS_FOR_A_LOCK = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@pytest.fixture
def url(database: str) -> str:
    ensure_schema(database)
    return database


@pytest.fixture
def writer(url: str) -> Iterator[Writer]:
    with Writer(url) as opened:
        yield opened


def begin(writer: Writer, name: str = SETTLEMENT, target: LakePosition | None = TARGET) -> Step:
    with writer.work() as work:
        return begin_step(work, name, target, 4)


def attempt(url: str, step: Step, turn: int = 0, shard: int = 2) -> bool:
    """Whether it found something to do."""
    with Writer(url) as writer, writer.part() as work:
        if not enter_shard(work, step, shard, turn):
            return False
        leave_shard(work, step, shard, turn)
        return True


def await_one_that_waits(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(WAITS_FOR_A_LOCK).fetchone() == (0,):
            threading.Event().wait(0.01)


@pytest.mark.parametrize("target", [TARGET, None])
@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("commits", [True, False])
def test_of_two_attempts_at_once_one_waits_and_finds_what_the_other_has_done(
    url: str, writer: Writer, target: LakePosition | None, turn: int, commits: bool
) -> None:
    step = begin(writer, target=target)
    with ThreadPoolExecutor(1) as pool:
        try:
            with writer.part() as work:
                assert enter_shard(work, step, 2, turn)
                other: Future[bool] = pool.submit(attempt, url, step, turn)
                await_one_that_waits(url)
                leave_shard(work, step, 2, turn)
                if not commits:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert other.result() is not commits


@pytest.mark.parametrize("target", [TARGET, None])
def test_what_was_committed_is_not_done_again_in_any_turn(
    url: str, writer: Writer, target: LakePosition | None
) -> None:
    step = begin(writer, target=target)
    assert [attempt(url, step, turn) for turn in (0, 0, 1, 0, 1, 2, 1, 3)] == [
        *(True, False, True, False),
        *(False, True, False, True),
    ]
    assert attempt(url, step, 0, shard=3)


def test_a_step_that_was_interrupted_goes_on_with_the_shards_that_are_left(url: str, writer: Writer) -> None:
    first = begin(writer)
    assert attempt(url, first, shard=0)
    assert attempt(url, first, turn=1, shard=0)
    second = begin(writer, target=LakePosition(9, 1_800_000))
    assert (second.target, second.before) == (TARGET, LakePosition())
    assert not attempt(url, second, shard=0)
    assert attempt(url, second, shard=1)
    assert attempt(url, second, turn=1, shard=0)  # other meters than in the turn of the first attempt
    assert not attempt(url, second, turn=1, shard=0)


def test_the_next_step_to_the_same_position_begins_with_all_shards(url: str, writer: Writer) -> None:
    """As behind a replay, which sets the position anew."""
    for _ in range(2):
        step = begin(writer)
        assert attempt(url, step)
        with writer.work() as work:
            end_step(work, step)


def test_an_attempt_that_another_one_has_followed_is_refused_whatever_its_pass_is(
    url: str, writer: Writer
) -> None:
    old = begin(writer, f"{SETTLEMENT}-again", None)
    begin(writer, ARRIVALS)
    with pytest.raises(StromError, match="taken over"):
        attempt(url, old)


def test_the_next_attempt_waits_for_who_is_still_at_work(url: str, writer: Writer) -> None:
    step = begin(writer, ARRIVALS)
    with Writer(url) as other, ThreadPoolExecutor(1) as pool:
        with writer.part() as work:
            assert enter_shard(work, step, 2, 0)
            following = pool.submit(begin, other, SETTLEMENT)
            await_one_that_waits(url)
            save_waiting(work, step, {"m1": "{}"})
            leave_shard(work, step, 2, 0)
        assert following.result().epoch > step.epoch
    with writer.work() as work:
        assert load_waiting(work, step, 10, 100) == {"m1": "{}"}


def test_a_connection_that_was_cut_while_nobody_used_it_is_made_anew(url: str, writer: Writer) -> None:
    step = begin(writer)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with writer.part() as work:
        assert enter_shard(work, step, 2, 0)


def test_nobody_at_work_on_a_shard_holds_its_locks_for_ever(url: str, writer: Writer) -> None:
    step = begin(writer)
    with writer.part() as work:
        assert enter_shard(work, step, 2, 0)
        assert work.rows("SHOW idle_in_transaction_session_timeout") == [("5min",)]
        assert work.rows("SHOW tcp_keepalives_idle") == [("30",)]
    with writer.work() as work:
        assert work.rows("SHOW idle_in_transaction_session_timeout") == [("0",)]
