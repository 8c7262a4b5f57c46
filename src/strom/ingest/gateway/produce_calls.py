"""The calls that write: one message in the path, one or many in the body, and webhooks as they come."""

from collections.abc import Awaitable

from strom.ingest.gateway.answers import Answer, Problem
from strom.ingest.gateway.bodies import Given, read_messages, refuse_too_large
from strom.ingest.gateway.call import Call
from strom.ingest.gateway.directory import Directory
from strom.ingest.gateway.messages import Message, RecordHeaders
from strom.ingest.gateway.outcome import answer_one
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.standard_headers import is_standard
from strom.ingest.gateway.writers import Writers
from strom.ingest.gateway.writing import write_all, write_one


class ProduceCalls:
    def __init__(self, sender: Sender, writers: Writers, directory: Directory) -> None:
        self._sender = sender
        self._writers = writers
        self._directory = directory

    async def in_path(self, call: Call) -> Answer:
        """`GET /produce/{topic}/{message}?key=K`"""
        topic, value, query = call.segment(1), call.segment(2), call.query("key")
        if not self._knows(call, topic):
            await self._directory.partitions(topic)
        key = query["key"].encode() if "key" in query else None
        return await self._write_one(call, Message(topic, value.encode(), key))

    async def in_body(self, call: Call) -> Answer:
        """`GET|POST /produce/{topic}`"""
        topic = call.segment(1)
        call.query()
        if not self._knows(call, topic):
            await self._directory.partitions(topic)
        call.require_json()
        slot = self._writers.slot_for(call.announced)
        if slot is None:
            return await self._write_all(call, read_messages(await call.body(), topic))
        try:
            size = await call.body_into(slot.memory)
        except BaseException:
            slot.give_back()
            raise
        if slot.is_lost:
            return await self._write_all(call, read_messages(slot.memory[:size], topic))
        return await slot.write(size, topic, self._directory.counts.get(topic, 0), call.user.name)

    async def with_topics(self, call: Call) -> Answer:
        """`GET|POST /produce`"""
        call.query()
        call.require_json()
        given = read_messages(await call.body(), None)
        seen: set[str] = set()
        for index, message in enumerate(given.messages):
            if message.topic not in seen:
                if not self._knows(call, message.topic, given.place(index)):
                    await self._directory.partitions(message.topic, given.place(index))
                seen.add(message.topic)
        return await self._write_all(call, given)

    async def webhook(self, call: Call) -> Answer:
        """`POST /webhook?topic=T`: the body as it is, and the headers that are not HTTP's own."""
        topic = call.query("topic").get("topic")
        if not topic:
            raise Problem(400, "The topic is missing; write it as /webhook?topic=T.")
        if not self._knows(call, topic):
            await self._directory.partitions(topic)
        message = Message(topic, await call.body(), headers=_own_headers(call))
        refuse_too_large(message)
        return await self._write_one(call, message)

    def _knows(self, call: Call, topic: str, place: str = "") -> bool:
        """Whether the topic is one that can be written to, without asking Kafka; refused if it is not the user's."""
        call.user.require(topic, place)
        return self._directory.connected and self._directory.known(topic) is not None

    async def _write_one(self, call: Call, message: Message) -> Answer:
        outcome = await write_one(self._sender, self._directory.counts, message, call.user.name)
        return answer_one(message, outcome)

    def _write_all(self, call: Call, given: Given) -> Awaitable[Answer]:
        return write_all(self._sender, self._directory.counts, given, call.user.name)


def _own_headers(call: Call) -> RecordHeaders:
    pairs = ((name.decode("latin-1"), value) for name, value in call.scope["headers"])
    return [(name, value) for name, value in pairs if not is_standard(name)]
