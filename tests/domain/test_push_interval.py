"""The push interval is what most steps say."""

from strom.domain.push_interval import PushInterval


def test_one_step_is_believed_until_others_outvote_it() -> None:
    push = PushInterval().observe(5_000, 1)
    assert push.seconds == 5
    assert push.observe(10_000, 1).seconds == 5
    assert push.observe(10_000, 2).seconds == 10


def test_an_outage_does_not_vote() -> None:
    assert PushInterval(5, 3).observe(9_000_000, 1) == PushInterval(5, 3)


def test_a_step_back_does_not_vote() -> None:
    assert PushInterval(5, 3).observe(-5_000, 1) == PushInterval(5, 3)


def test_jitter_rounds_to_seconds() -> None:
    assert PushInterval().observe(4_870, 7) == PushInterval(5, 7)


def test_a_meter_set_to_another_interval_is_believed_in_the_end() -> None:
    push = PushInterval(5, 1_000)
    for _ in range(1_001):
        push = push.observe(60_000, 1)
    assert push.seconds == 60
