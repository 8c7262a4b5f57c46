"""From messages that were read to the answer: the same in the gateway's own process and in those that write for it."""

from collections.abc import Mapping

from strom.ingest.gateway.answers import Answer
from strom.ingest.gateway.bodies import Given
from strom.ingest.gateway.directory import require_partitions
from strom.ingest.gateway.messages import Alike
from strom.ingest.gateway.outcome import answer_all
from strom.ingest.gateway.producing import Sender
from strom.ingest.gateway.raw_records import stamped


async def write_all(sender: Sender, counts: Mapping[str, int], given: Given, user: str) -> Answer:
    """All of them or, if Kafka does not take all, a Problem that tells of each; `counts` are partitions by topic."""
    if not isinstance(given.messages, Alike):  # those name no partition
        require_partitions(
            [
                (given.place(index), message.topic, message.partition)
                for index, message in enumerate(given.messages)
                if message.partition >= 0
            ],
            counts,
        )
    outcomes = await sender.send(stamped(given.messages, user))
    return answer_all(given.messages, outcomes, single=not given.is_array)
