"""Who hands messages to Kafka: the loop never waits for Kafka, and a producer that has failed for good is replaced."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewPartitions

from strom.errors import StromError
from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.background import Background
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.messages import Message
from strom.ingest.gateway.outcome import NotWritten
from strom.ingest.gateway.producers import Producers
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.writing import write_one
from strom.settings import AreaSettings, GatewaySettings, KafkaSettings, Settings
from strom.streams.admin import admin_client
from strom.streams.partitioners import Partitioner
from tests.ingest.gateway.calling import Caller
from tests.streams.writing import topic_of
from tests.waiting import until

SECONDS = 60.0


def nowhere(**kafka: object) -> Settings:
    """At a Kafka that is not there."""
    return Settings(
        kafka=KafkaSettings.model_validate({"bootstrap": "127.0.0.1:1", **kafka}),
        gateway=GatewaySettings(send_seconds=300),
        areas={"nord": AreaSettings(meters=["haus*"])},
    )


def a_sender(counters: Counters, **kafka: object) -> Sender:
    return Sender(nowhere(**kafka), counters, Background(counters))


@pytest.mark.parametrize("count", [1, 3])
def test_while_kafka_is_asked_for_partitions_the_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    the_loop_goes_on = threading.Event()

    def ask(*_: object) -> int:
        assert the_loop_goes_on.wait(SECONDS)
        raise StromError("no answer")

    monkeypatch.setattr(Partitioner, "learn", ask)

    async def run() -> int:
        sender = a_sender(Counters(), partitioner="area")
        message = Message("t", b"v", b"haus")
        sent = write_one(sender, {}, message, "anna") if count == 1 else sender.send([message] * count)
        asyncio.get_running_loop().call_later(0.01, the_loop_goes_on.set)
        with pytest.raises(Problem) as caught:
            await sent
        sender.close()
        return caught.value.status

    assert asyncio.run(run()) == 503


def test_what_a_producer_has_that_has_failed_for_good_is_told_and_another_takes_over() -> None:
    async def run() -> tuple[Counters, bool]:
        counters = Counters()
        sender = a_sender(counters)
        former = sender.alone()
        waiting = sender.send_one(Message("t", b"v"))
        assert counters.in_flight == 1
        sender.notice(KafkaError(KafkaError._FATAL))
        async with asyncio.timeout(SECONDS):
            said = await waiting
        assert isinstance(said, NotWritten)
        assert (said.status, said.written) == (503, "no")
        is_another = sender.alone() is not former
        sender.close()
        return counters, is_another

    counters, is_another = asyncio.run(run())
    assert (counters.in_flight, counters.not_written, counters.written) == (0, 1, 0)
    assert is_another


def test_a_client_that_raises_in_place_of_calling_back_is_replaced_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> NotWritten | str:
        sender = a_sender(Counters())
        waiting = sender.send_one(Message("t", b"v"))

        def broken(_: Producers) -> int:
            monkeypatch.undo()
            raise KafkaException(KafkaError(KafkaError._FATAL))

        monkeypatch.setattr(Producers, "poll", broken)
        async with asyncio.timeout(SECONDS):
            said = await waiting
        sender.close()
        return said

    said = asyncio.run(run())
    assert isinstance(said, NotWritten)
    assert said.status == 503


@pytest.mark.stack
@pytest.mark.parametrize("as_array", [False, True])
def test_a_new_partition_can_be_written_to_as_soon_as_the_gateway_tells_of_it(
    gateway: Caller, stack: Settings, unique: Callable[[str], str], as_array: bool
) -> None:
    topic = topic_of(stack, unique("grows"), partitions=1)
    assert gateway.post(f"/produce/{topic}", [{"value": "to know the topic", "key": "k"}]).status_code == 200
    admin = admin_client(stack)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    until(lambda: gateway.get("/topics").json()[topic] == 3)
    message = {"value": "there", "partition": 2}
    answer = gateway.post(f"/produce/{topic}", [message] * 2 if as_array else message)
    assert answer.status_code == 200, answer.text
    assert {each["partition"] for each in answer.json()} == {2}
