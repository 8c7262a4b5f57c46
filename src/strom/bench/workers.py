"""How much sooner two Spark workers with one core each are done with the passes than one: the part that runs on executors."""

from collections.abc import Callable, Sequence

from strom.bench.ground import free_block
from strom.bench.growth import START_S
from strom.pipeline.bench.on_executors import Load, PassesTook, fill_lake, open_passes
from strom.settings import EMBEDDED_CLUSTER, Settings
from strom.stack.supervisor import Stack

QUARTERS, INTERVAL_S = 4, 60
WORKERS = (1, 2)


def passes_by_workers(
    settings: Settings, meters: int, rounds: int, say: Callable[[str], None]
) -> Sequence[PassesTook]:
    """The quickest round with one worker and with two: the same lake each time, and new tables.

    Each cluster has a session of its own; its first round, which generates and compiles the code, does not count.
    """
    load = Load(meters, QUARTERS, INTERVAL_S, START_S)
    say(f"a lake of {load.readings:,} readings")
    fill_lake(settings, load)
    return [_with_workers(settings, workers, load, rounds, say) for workers in WORKERS]


def _with_workers(
    settings: Settings, workers: int, load: Load, rounds: int, say: Callable[[str], None]
) -> PassesTook:
    own = _on_cluster(settings, workers)
    took = []
    with Stack(own, ("spark",), report=say), open_passes(own, workers) as passes:
        for turn in range(1 + rounds):
            each = passes.run(f"workers_{workers}_{turn}", load)
            say(
                f"{workers} with one core: {each.on_executors:.1f} s on executors, {each.shards:.1f} s of these shards, "
                f"{each.tasks:.1f} s of tasks, {each.wall:.1f} s in all{'' if turn else ', to warm up'}"
            )
            took.append(each)
    return min(took[1:], key=lambda each: each.on_executors)


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
