"""When an adapter is asked: at the times of its interval, and after a failure soon enough for the next push."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.backoff import LONGEST_SECONDS, Backoff
from strom.devices.box import Trouble, running_box
from strom.ingest.poll import rounds
from strom.ingest.poll.times import left_out, longest_pause, next_time
from strom.ingest.poll.trouble import Kind
from strom.settings import AdapterSettings
from tests.conftest import free_ports
from tests.ingest.poll.boxes import play, until
from tests.ingest.poll.going import going, rest


@given(
    st.floats(0, 1e6),
    st.floats(0.01, 3600),
    st.lists(st.floats(-0.002, 0), min_size=1, max_size=20),
)
def test_no_time_of_the_interval_comes_twice_or_is_left_out_when_timers_ring_early(
    anchor: float, interval: float, early: list[float]
) -> None:
    due = anchor
    for number, moment in enumerate(early, 1):
        due = next_time(anchor, interval, max(due, due + moment))
        assert due == pytest.approx(anchor + number * interval)


def test_times_that_passed_while_an_answer_took_long_are_left_out() -> None:
    assert next_time(100, 5, after=100) == 105
    assert next_time(100, 5, after=112.5) == 115
    assert next_time(103, 5, after=100) == 103


def test_times_are_left_out_only_by_an_answer_that_takes_longer_than_the_interval() -> None:
    assert [left_out(5, due=100, now=now) for now in (99.999, 100, 104.9)] == [0, 0, 0]
    assert [left_out(5, due=100, now=now) for now in (105, 109.9, 117)] == [1, 1, 3]


@pytest.mark.parametrize(
    ("interval", "longest"),
    [(0.1, 1.0), (0.5, 1.0), (2.0, 4.0), (5.0, 10.0), (60.0, LONGEST_SECONDS)],
)
def test_a_box_that_is_away_is_asked_again_within_two_intervals_and_one_that_refuses_is_let_alone(
    interval: float, longest: float
) -> None:
    for kind in (Kind.CONNECTION, Kind.TIMEOUT, Kind.GARBAGE, Kind.HTTP, Kind.MODBUS):
        assert longest_pause(kind, interval) == longest
    for kind in (Kind.TOKEN, Kind.CERTIFICATE):
        assert longest_pause(kind, interval) == LONGEST_SECONDS


@pytest.mark.parametrize(("token", "longest"), [(None, 4.0), ("falsch", LONGEST_SECONDS)])
def test_pauses_after_failures_grow_up_to_their_bound_and_are_never_in_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None, longest: float
) -> None:
    pauses: list[float] = []

    class Noted(Backoff):
        """Tells its pauses and does not wait for them."""

        def next(self) -> float:
            pauses.append(super().next())
            return 0.001

    async def scene() -> None:
        with running_box(tmp_path) as box:
            box.have(*[Trouble.CUT] * (token is None))
            async with going(rest(box, token=token or box.token), interval=2.0):
                await until(lambda: len(pauses) >= 20)

    monkeypatch.setattr(rounds, "Backoff", Noted)
    play(scene())
    assert pauses[0] <= 0.2
    late = pauses[10:]
    assert longest / 2 <= min(late) < max(late) <= longest


@pytest.mark.parametrize("refuses", [True, False])
def test_a_box_that_fails_is_asked_less_often_than_one_that_answers(tmp_path: Path, refuses: bool) -> None:
    async def scene() -> tuple[int, int]:
        with running_box(tmp_path) as box:
            failing = rest(box, token="falsch") if refuses else _nobody()
            async with going(rest(box)) as good, going(failing) as bad:
                await until(lambda: good.rounds.asked.polls >= 60 and bad.rounds.asked.polls >= 3)
                return good.rounds.asked.polls, bad.rounds.asked.polls

    good, bad = play(scene())
    assert bad < good / 2


def test_a_box_that_fails_is_asked_again_long_before_a_long_interval_is_over(tmp_path: Path) -> None:
    async def scene() -> bool:
        with running_box(tmp_path) as box:
            box.have(Trouble.CUT)
            async with going(rest(box), interval=3600.0) as seen:
                await until(lambda: seen.failures(Kind.CONNECTION) >= 3)
                box.have()
                await until(lambda: seen.sent)
                return bool(seen.sent)

    assert play(scene())


def _nobody() -> AdapterSettings:
    """Where no box listens."""
    [port] = free_ports(1)
    return AdapterSettings(by="rest", address=f"127.0.0.1:{port}", token="geheim", fingerprint="ab" * 32)
