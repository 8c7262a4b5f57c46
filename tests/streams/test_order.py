"""One meter stays in order, whoever sends.

In order means: a meter's records lie on one partition, in the order in which they were sent, each once. That holds for
one sender, and from one to the next when the next begins after all that was sent before is written.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from strom.settings import AreaSettings, Settings
from tests.streams.senders import METERS, TURNS, run_senders
from tests.streams.writing import lying_in, topic_of

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]
AREAS = {"nord": AreaSettings(meters=["haus-1*"]), "süd": AreaSettings(meters=["haus-*"])}


def assert_in_order(settings: Settings, topic: str, each: int) -> None:
    counts: dict[str, list[int]] = defaultdict(list)
    places: dict[str, set[int]] = defaultdict(set)
    for record in lying_in(settings, topic):
        meter = (record.key or b"").decode()
        counts[meter].append(int(record.value or b"-1"))
        places[meter].add(record.partition)
    assert counts == {meter: list(range(TURNS * each)) for meter in METERS}
    assert {len(found) for found in places.values()} == {1}
    assert len(set.union(*places.values())) > 1, "all meters lie on one partition: that proves nothing"


@pytest.mark.parametrize(
    "choices",
    [{}, {"partitioner": "area"}, {"acks": 1}, {"acks": "all", "idempotent": False}],
    ids=str,
)
def test_a_meter_stays_in_order_with_concurrent_senders(
    stack: Settings, unique: Unique, choices: dict[str, Any]
) -> None:
    settings = stack.model_copy(update={"areas": AREAS})
    topic = topic_of(settings, unique("order"), partitions=6)
    run_senders(settings, topic, 100, **choices)
    assert_in_order(settings, topic, 100)
