"""Which part of a running stack is killed after how many messages: drawn by a seed, so that it can be drawn again."""

import random
from dataclasses import dataclass

from strom.stack.supervisor import Stack
from tests.e2e.way import await_true

# One of each line is killed in every round. A Spark worker takes its executor along, Postgres its open transaction.
LINES = (
    ("bridge",),
    ("pipeline",),
    ("kafka", "kafka-2", "kafka-3"),
    ("spark-worker-1", "spark-worker-2"),
    ("postgres",),
)


@dataclass(frozen=True)
class Kill:
    part: str
    after: int  # messages that were published before it


def draw(seed: int, messages: int, rounds: int = 1) -> list[Kill]:
    """One of each line in each round, in any order, at moments spread by chance over the messages."""
    chance = random.Random(seed)
    parts = [chance.choice(line) for line in LINES for _ in range(rounds)]
    chance.shuffle(parts)
    moments = sorted(chance.sample(range(messages // 20, messages * 19 // 20), len(parts)))
    return [Kill(part, after) for part, after in zip(parts, moments, strict=True)]


def carry_out(stack: Stack, kill: Kill) -> int:
    """SIGKILL, while others may still be on their way back; returns the pid that is gone."""
    await_true(lambda: stack.state(kill.part).state == "running", f"{kill.part} runs")
    return stack.kill(kill.part)
