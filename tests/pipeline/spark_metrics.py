"""What Spark's own metrics tell of a piece of work."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

_OF_A_LAKE = ("PreparedDeltaFileIndex", "TahoeLogFileIndex", "TahoeBatchFileIndex", "CDC")


def lake_files_read(spark: SparkSession, work: Callable[[], object]) -> int:
    """How many files of Delta tables were read meanwhile, each as often as it was; their log does not count."""
    before = {number for number, _ in _executions(spark)}
    work()
    return sum(files for number, files in _executions(spark) if number not in before)


def _executions(spark: SparkSession) -> list[tuple[int, int]]:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store: Any = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    numbers = [executions.apply(place).executionId() for place in range(executions.size())]
    return [(number, _files_of(store, number)) for number in numbers]


def _files_of(store: Any, number: int) -> int:
    values, nodes = store.executionMetrics(number), store.planGraph(number).allNodes()
    files = 0
    for place in range(nodes.size()):
        node = nodes.apply(place)
        if node.name().startswith("Scan") and any(name in node.desc() for name in _OF_A_LAKE):
            metrics = node.metrics()
            for each in (metrics.apply(at) for at in range(metrics.size())):
                if each.name() == "number of files read":
                    told = values.get(each.accumulatorId())
                    files += int(told.get().replace(",", "")) if told.isDefined() else 0
    return files
