"""Which part of a running stack is killed when: drawn by a seed, so that the same can be drawn again."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.supervisor import Stack
from strom.store.reads import taken_in
from tests.e2e.way import until

# One of each line is killed in every round: those that messages come in by as messages come in, those that make
# something of them as that is being made. A Spark worker takes its executor along, Postgres its open transactions.
INGEST = (("bridge",), ("kafka", "kafka-2", "kafka-3"))
PIPELINE = (("pipeline",), ("spark-worker-1", "spark-worker-2"), ("postgres",))
LONGEST_DELAY = 2.0  # seconds: a batch takes about one


@dataclass(frozen=True)
class Kill:
    part: str
    after: int  # messages that were published, or taken into the tables, before it
    delay: float  # seconds from then on: so that it comes in the middle of something


@dataclass(frozen=True)
class Plan:
    ingest: list[Kill]
    pipeline: list[Kill]


def draw(seed: int, messages: int, rounds: int) -> Plan:
    """One of each line in each round, in any order, at moments spread by chance over the messages."""
    chance = random.Random(seed)
    return Plan(*(_kills(chance, lines * rounds, messages) for lines in (INGEST, PIPELINE)))


def _kills(chance: random.Random, lines: tuple[tuple[str, ...], ...], messages: int) -> list[Kill]:
    parts = [chance.choice(line) for line in lines]
    chance.shuffle(parts)
    moments = sorted(chance.sample(range(messages // 20, messages * 4 // 5), len(parts)))
    return [Kill(part, at, chance.uniform(0, LONGEST_DELAY)) for part, at in zip(parts, moments, strict=True)]


def carry_out(stack: Stack, plan: Plan, published: Callable[[], int]) -> None:
    """Kill as planned, the two lists side by side, and wait until everything is back."""
    stored_before = stored(stack.settings)
    with ThreadPoolExecutor(2) as both:
        ingest = both.submit(_each, stack, plan.ingest, published)
        pipeline = both.submit(_each, stack, plan.pipeline, lambda: stored(stack.settings) - stored_before)
        gone = ingest.result() | pipeline.result()
    for part, pid in gone.items():
        stack.await_ready(part, other_than=pid, seconds=900)


def stored(settings: Settings) -> int:
    """How many raw records the tables are past; 0 while Postgres is away."""
    try:
        return sum(offset + 1 for offset in taken_in(settings.postgres_url).values())
    except (StromError, psycopg.Error):
        return 0


def _each(stack: Stack, kills: list[Kill], reached: Callable[[], int]) -> dict[str, int]:
    gone: dict[str, int] = {}
    for kill in kills:
        until(lambda after=kill.after: reached() >= after, f"{kill}", seconds=1200)  # type: ignore[misc]
        time.sleep(kill.delay)
        until(lambda part=kill.part: stack.state(part).state == "running", f"{kill}", seconds=1200)  # type: ignore[misc]
        gone[kill.part] = stack.kill(kill.part)
    return gone
