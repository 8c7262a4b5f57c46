"""From messages that were read to the answer: the same in the gateway's own process and in those that write for it."""

from collections.abc import Awaitable, Mapping

from strom.ingest.gateway.answers import Answer
from strom.ingest.gateway.bodies import Given
from strom.ingest.gateway.directory import require_partition
from strom.ingest.gateway.messages import Alike, Message
from strom.ingest.gateway.outcome import Outcome, answer_all
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.raw_records import stamped, stamped_one


async def write_all(sender: Sender, counts: Mapping[str, int], given: Given, user: str) -> Answer:
    """All of them or, if Kafka does not take all, a Problem that tells of each; `counts` are partitions by topic."""
    messages = given.messages
    if not given.is_array:
        return answer_all(messages, [await write_one(sender, counts, messages[0], user)], single=True)
    if not isinstance(messages, Alike):  # those name no partition
        for index, message in enumerate(messages):
            if message.partition >= 0:
                require_partition(given.place(index), message.topic, message.partition, counts)
    outcomes = await sender.send(stamped(messages, user))
    return answer_all(messages, outcomes, single=False)


def write_one(sender: Sender, counts: Mapping[str, int], message: Message, user: str) -> Awaitable[Outcome]:
    if message.partition >= 0:
        require_partition("", message.topic, message.partition, counts)
    message = stamped_one(message, user)
    if sender.is_ready_for(message):
        return sender.send_one(message)
    return _make_ready_and_write(sender, message)


async def _make_ready_and_write(sender: Sender, message: Message) -> Outcome:
    await sender.get_ready_for(message)
    return await sender.send_one(message)
