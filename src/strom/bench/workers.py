"""How much sooner two Spark workers with one core each are done with the passes than one: the part that runs on executors."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from strom.bench.ground import free_block
from strom.bench.growth import START_S
from strom.pipeline.bench.on_executors import Load, PassesTook, fill_lake, open_passes
from strom.settings import EMBEDDED_CLUSTER, Settings
from strom.stack.supervisor import Stack

QUARTERS, INTERVAL_S = 2, 10
WORKERS = (1, 2)
WARM_UP = 1  # rounds of one worker that generate and compile the code


def load_of(meters: int) -> Load:
    return Load(meters, QUARTERS, INTERVAL_S, START_S)


def passes_by_workers(
    settings: Settings, load: Load, rounds: int, say: Callable[[str], None]
) -> Sequence[PassesTook]:
    """The quickest round with one worker and with two: the same lake each time, and new tables.

    Each cluster has a session of its own, and a warm-up. To Spark a core is a task at a time, while Java compiles code and
    collects garbage on all that the machine has: so each worker, with its executor and its Python, is kept to one. Two
    workers have a longer warm-up: when the last round begins, each executor has done as much as the one alone, and compiled as
    much.
    """
    say(f"a lake of {load.readings:,} readings")
    fill_lake(settings, load)
    return [_with_workers(settings, workers, load, rounds, say) for workers in WORKERS]


def _with_workers(
    settings: Settings, workers: int, load: Load, rounds: int, say: Callable[[str], None]
) -> PassesTook:
    own = _on_cluster(settings, workers)
    with Stack(own, ("spark",), report=say) as stack:
        for number in range(1, workers + 1):
            keep_to_a_core(stack.pid(f"spark-worker-{number}"), number)
        took = _rounds(own, workers, load, rounds, say)
    return min(took, key=lambda each: each.on_executors)


def _rounds(
    settings: Settings, workers: int, load: Load, rounds: int, say: Callable[[str], None]
) -> Sequence[PassesTook]:
    took, warm_up = [], workers * (WARM_UP + rounds - 1) - (rounds - 1)
    with open_passes(settings, workers) as passes:
        for turn in range(warm_up + rounds):
            each = passes.run(f"workers_{workers}_{turn}", load)
            say(
                f"{workers} with one core: {each.on_executors:.1f} s on executors, {each.shards:.1f} s of these shards, "
                f"{each.tasks:.1f} s of tasks, {each.wall:.1f} s in all{', to warm up' if turn < warm_up else ''}"
            )
            took.append(each)
    return took[warm_up:]


def keep_to_a_core(pid: int, number: int) -> None:
    """All threads of a process, and whatever they start; where the system cannot do that, or has one core, nothing happens."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended since
            os.sched_setaffinity(int(thread.name), {cores[number % len(cores)]})


def _on_cluster(settings: Settings, workers: int) -> Settings:
    port, page = free_block(workers + 1), free_block(workers + 1)
    cluster = {
        "master": EMBEDDED_CLUSTER,
        "port": port,
        "ui_port": page,
        "workers": workers,
        "worker_cores": 1,
        "join": None,
    }
    return settings.model_copy(update={"spark": settings.spark.model_copy(update=cluster)})
