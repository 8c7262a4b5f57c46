"""Silence: how long a meter may be quiet, and that the same messages tell the same silences, however they come."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from strom.domain.alerts import Alert
from strom.domain.silences import Arrival, Heard, QuietLimits, ended_silences, silence

ZONE = "Europe/Vienna"
NOON = 1_767_265_200_000  # 2026-01-01 12:00 in Vienna
SECOND, HOUR = 1_000, 3_600_000
LIMITS = QuietLimits(pushes=3, least_seconds=90, unknown_seconds=10_800)


def ended(*steps: int, interval: int | None = 5) -> list[tuple[int, int, float]]:
    """The silences of a meter that sends at noon and after each of these steps, as hours from and to, and the limit."""
    times = [NOON + sum(steps[:count]) for count in range(len(steps) + 1)]
    found = ended_silences("m1", None, [(at + 200, at) for at in times], LIMITS, interval, ZONE)
    return [(alert.started, alert.ended or 0, alert.threshold) for alert in found]


def test_a_meter_may_be_quiet_for_three_pushes_but_at_least_ninety_seconds() -> None:
    assert LIMITS.ms(5) == 90_000
    assert LIMITS.ms(900) == 2_700_000


def test_silence_begins_when_the_limit_was_over_and_keeps_its_id_when_it_ends() -> None:
    lasting = silence("Wohnung 12", NOON, 90_000, None, ZONE)
    over = silence("Wohnung 12", NOON, 90_000, NOON + 600_000, ZONE)
    assert lasting.started == NOON + 90_000
    assert lasting.id == over.id
    assert lasting.text.startswith("Wohnung 12 sends nothing since 01.01. 12:00")
    assert over.text == "Wohnung 12 sent nothing from 01.01. 12:00 to 01.01. 12:10."
    assert over.value == 600


def test_a_meter_that_sent_only_once_may_be_quiet_for_hours_whatever_it_sends_later() -> None:
    assert LIMITS.ms(None) == 3 * HOUR
    assert QuietLimits(3, 20_000, 10_800).ms(None) == 20_000 * SECOND
    assert ended(2 * HOUR, 5 * SECOND, 5 * SECOND) == []
    since = NOON + 200 + 3 * HOUR
    assert ended(4 * HOUR, 5 * SECOND, 5 * SECOND) == [(since, NOON + 200 + 4 * HOUR, 10_800)]


def test_two_messages_that_are_no_outage_apart_tell_the_interval() -> None:
    assert ended(5 * SECOND, 100 * SECOND) == [(NOON + 95_200, NOON + 105_200, 90)]
    apart = 4 * HOUR
    assert [limit for _, _, limit in ended(apart, apart, 5 * SECOND, 95 * SECOND)] == [10_800, 10_800, 90]


STEPS = st.sampled_from([1, 5 * SECOND, 95 * SECOND, HOUR, 2 * HOUR, 4 * HOUR])


@given(
    steps=st.lists(STEPS, max_size=12),
    filled=st.lists(st.integers(0, 11)),
    cuts=st.lists(st.integers(0, 12), max_size=4),
)
def test_however_the_messages_are_cut_into_batches_the_silences_are_the_same(
    steps: list[int], filled: list[int], cuts: list[int]
) -> None:
    """Some readings come late, together with the next one."""
    times = [NOON + sum(steps[:count]) for count in range(len(steps) + 1)]
    came = {
        at: times[min(place + 1, len(steps))] if place in filled else at for place, at in enumerate(times)
    }
    arrivals = sorted((came[at], at) for at in times)
    whole = ended_silences("m1", None, arrivals, LIMITS, 5, ZONE)
    # A batch ends between arrivals, not within those of one moment.
    edges = [NOON - 1, *sorted(times[min(cut, len(steps))] for cut in cuts), times[-1]]
    found: list[Alert] = []
    heard: Heard | None = None
    known: list[Arrival] = []
    for begin, end in itertools.pairwise(edges):
        part = [arrival for arrival in arrivals if begin < arrival[0] <= end]
        random.Random(len(part)).shuffle(part)
        found += ended_silences("m1", heard, part, LIMITS, 5, ZONE)
        known += part
        heard = _heard(known)
    assert found == whole


def _heard(known: list[Arrival]) -> Heard | None:
    """What the pipeline keeps of them."""
    if not known:
        return None
    (_, newest), *later = sorted(known)
    knows = False
    for _, at in later:
        knows = knows or 0 < at - newest <= 2 * HOUR
        newest = max(newest, at)
    return Heard(max(received for received, _ in known), newest, LIMITS.ms(5 if knows else None), knows)
