"""More messages than the client has room for: whoever sends is held up, nothing is lost, and nobody waits for ever."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.streams import Delivery, DeliveryFuture, Producer, StromError, choices
from strom.streams.topics import RAW
from tests.outages import halted
from tests.streams.writing import SECONDS, lying_in, topic_of
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]
ROOM = 10
VALUES = [b"%d" % number for number in range(5 * ROOM)]


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "UNDER_WAY", ROOM)


@pytest.fixture
def topic(servers: Stack, unique: Unique) -> str:
    return topic_of(servers.settings, unique("room"))


def values_in(settings: Settings, topic: str) -> list[bytes]:
    return [record.value or b"" for record in lying_in(settings, topic)]


def test_a_sender_is_held_up_until_there_is_room_and_nothing_is_lost(servers: Stack, topic: str) -> None:
    sent: list[DeliveryFuture] = []
    most = 0

    def send(producer: Producer) -> None:
        nonlocal most
        for value in VALUES:
            sent.append(producer.send(topic, value, key="m"))
            most = max(most, sum(not future.done() for future in sent))

    with Producer(servers.settings) as producer:
        producer.check(topic)
        with halted(servers):
            sending = threading.Thread(target=send, args=(producer,))
            sending.start()
            until(lambda: len(sent) == ROOM, "all the room is taken")
            assert sending.is_alive()
        sending.join(SECONDS)
        assert not sending.is_alive()
    assert most == ROOM
    assert values_in(servers.settings, topic) == VALUES


def test_a_message_that_is_sent_in_a_callback_without_room_is_told_at_the_end(
    servers: Stack, topic: str
) -> None:
    heard: list[str] = []

    def answered(_: object) -> None:
        for value in VALUES:  # no answer is taken in here, so there is no more room at the end
            try:
                producer.send(topic, value, key="m")
            except StromError as error:
                heard.append(str(error))
                raise

    def send() -> None:
        with producer:
            producer.send(topic, b"first", key="m").add_done_callback(answered)

    producer = Producer(servers.settings)
    with pytest.raises(StromError, match="Kafka did not write 1 of the messages; the first: Nothing can be"):
        send()
    assert heard == ["Nothing can be waited for in what a delivery calls back; wait elsewhere."]
    written = values_in(servers.settings, topic)
    assert written == [b"first", *VALUES[: len(written) - 1]]


class Beats:
    """Counts how often an event loop comes round."""

    def __init__(self) -> None:
        self.count = 0
        self._going = True

    async def run(self) -> None:
        while self._going:
            self.count += 1
            await asyncio.sleep(0.001)

    def end(self) -> None:
        self._going = False


def test_an_event_loop_goes_on_while_a_sender_waits_for_room(servers: Stack, topic: str) -> None:
    async def send_all(producer: Producer) -> list[DeliveryFuture]:
        return [await producer.send_async(topic, value, key="m") for value in VALUES]

    async def run() -> list[Delivery]:
        beats = Beats()
        beating = asyncio.create_task(beats.run())
        async with Producer(servers.settings) as producer:
            await producer.send_async(topic, b"first", key="m")
            gone = halted(servers)
            await asyncio.to_thread(gone.__enter__)
            sending = asyncio.create_task(send_all(producer))
            at_first = beats.count
            while beats.count < at_first + 50:
                await asyncio.sleep(0.001)
            assert not sending.done()
            await asyncio.to_thread(gone.__exit__, None, None, None)
            found = await asyncio.gather(*await sending)
        beats.end()
        await beating
        return found

    assert [each.offset for each in asyncio.run(run())] == list(range(1, 1 + len(VALUES)))
    assert values_in(servers.settings, topic) == [b"first", *VALUES]


def test_tasks_that_wait_for_room_have_it_in_the_order_in_which_they_came(servers: Stack, topic: str) -> None:
    async def run() -> None:
        async with Producer(servers.settings) as producer:
            await asyncio.gather(*(producer.send_async(topic, value, key="m") for value in VALUES))

    asyncio.run(run())
    assert values_in(servers.settings, topic) == VALUES


def test_one_who_is_cancelled_while_waiting_for_room_leaves_nothing_to_wait_for(
    servers: Stack, topic: str
) -> None:
    async def send_all(producer: Producer, sent: list[DeliveryFuture]) -> None:
        for value in VALUES:
            sent.append(await producer.send_async(topic, value, key="m"))

    async def run() -> int:
        sent: list[DeliveryFuture] = []
        async with Producer(servers.settings) as producer:
            await asyncio.to_thread(producer.check, topic)
            gone = halted(servers)
            await asyncio.to_thread(gone.__enter__)
            sending = asyncio.create_task(send_all(producer, sent))
            while len(sent) < ROOM:
                await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.to_thread(gone.__exit__, None, None, None)
        return len(sent)

    assert asyncio.run(run()) == ROOM
    assert values_in(servers.settings, topic) == VALUES[:ROOM]


def test_a_topic_that_is_new_is_asked_for_beside_the_event_loop() -> None:
    nowhere = Settings.model_validate({"kafka": {"bootstrap": "127.0.0.1:1"}})

    async def run() -> int:
        beats = Beats()
        beating = asyncio.create_task(beats.run())
        async with Producer(nowhere) as producer:
            sending = asyncio.create_task(producer.send_async(RAW, b"v"))
            while beats.count < 50:
                await asyncio.sleep(0.001)
            assert not sending.done()
            with pytest.raises(StromError, match="does not answer"):
                await sending
        beats.end()
        await beating
        return beats.count

    assert asyncio.run(run()) >= 50
