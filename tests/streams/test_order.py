"""One meter stays in order, whoever sends.

In order means: a meter's records lie on one partition, in the order in which they were sent, each once. That holds for
one sender, and from one to the next when the next begins after all that was sent before is written.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from strom.settings import AreaSettings, Settings
from strom.stack.supervisor import Stack
from tests.conftest import settings_in
from tests.streams.senders import METERS, TURNS, run_senders
from tests.streams.writing import lying_in, topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]
AREAS = {"nord": AreaSettings(meters=["haus-1*"]), "süd": AreaSettings(meters=["haus-*"])}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A Kafka that these tests may break."""
    with Stack(settings_in(tmp_path_factory.mktemp("order")), ["kafka"]) as stack:
        yield stack


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
    servers: Stack, unique: Unique, choices: dict[str, Any]
) -> None:
    settings = servers.settings.model_copy(update={"areas": AREAS})
    topic = topic_of(settings, unique("order"), partitions=6)
    run_senders(settings, topic, 100, **choices)
    assert_in_order(settings, topic, 100)


def test_a_meter_stays_in_order_though_the_broker_dies_under_its_senders(
    servers: Stack, unique: Unique
) -> None:
    topic = topic_of(servers.settings, unique("order"), partitions=6)
    sending = threading.Thread(target=run_senders, args=(servers.settings, topic, 1000))
    sending.start()
    until(lambda: len(lying_in(servers.settings, topic)) > 1000, "the senders are at work")
    gone = servers.kill("kafka")
    assert sending.is_alive(), "nothing was under way when the broker died"
    servers.await_ready("kafka", other_than=gone)
    sending.join()
    assert_in_order(servers.settings, topic, 1000)
