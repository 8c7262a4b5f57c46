"""A push is sent once, however often the adapter answers with it."""

import json

from strom.ingest.poll.repeats import KEPT_SECONDS, Repeats


def push(uptime: float = 10.5, at: int | None = 1_763_230_500, watts: int = 412) -> bytes:
    entry = {"value": watts} if at is None else {"value": watts, "time": at}
    return json.dumps({"name": "m", "sma_time": uptime, "1-0:1.7.0": entry}).encode()


def sent(*answers: tuple[float, bytes]) -> list[bool]:
    repeats = Repeats()
    return [repeats.is_new(payload, at) for at, payload in answers]


def test_the_same_push_with_another_uptime_is_a_repeat_however_late() -> None:
    assert sent((0, push(1)), (2, push(3.25)), (KEPT_SECONDS * 100, push(4))) == [True, False, False]


def test_an_unchanged_meter_with_new_times_is_a_new_push() -> None:
    assert sent((0, push(at=1_763_230_500)), (5, push(at=1_763_230_505))) == [True, True]


def test_another_value_at_the_same_time_is_a_new_push() -> None:
    assert sent((0, push(watts=1)), (5, push(watts=2)), (6, push(watts=1))) == [True, True, True]


def test_without_times_the_same_values_are_a_new_push_when_the_device_cannot_have_kept_them() -> None:
    for at in (None, 0):
        assert sent((0, push(1, at)), (KEPT_SECONDS - 1, push(2, at)), (KEPT_SECONDS, push(3, at))) == [
            True,
            False,
            True,
        ]


def test_what_is_not_json_is_compared_as_it_is() -> None:
    assert sent((0, b"\xff"), (1, b"\xff"), (2, b"\xfe")) == [True, False, True]
