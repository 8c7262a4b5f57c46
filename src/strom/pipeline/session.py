"""The one Spark session of a process, with the jars that the set-up fetched; knows no job and no topic."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline import cluster
from strom.settings import Settings

# Wide projections become long methods, which the JVM would leave interpreted, several times slower.
_JAVA_OPTIONS = "-XX:-DontCompileHugeMethods"
STOP_SECONDS = 20  # that a query may take to end once it is stopped
# Rows make much garbage that dies at once, and the default collector goes through the whole heap for it again and again.
_COLLECTOR = "-XX:+UseParallelGC"
_CHOSEN_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def connector_jars() -> list[Path]:
    """The Kafka connector and Delta, as local files: nothing is resolved when a session starts."""
    jars = sorted((Path(sys.prefix) / "share" / "strom" / "spark").glob("*.jar"))
    if not jars:
        raise StromError("the Spark connector jars are missing; run `make setup` once.")
    return jars


def build_session(
    settings: Settings, name: str = "strom", more: Mapping[str, str] | None = None
) -> SparkSession:
    """A session with Delta, UTC and the settings that every stage relies on, and more; `spark.conf` has the last word."""
    cluster.refuse_if_away(settings)
    cluster.warn_of_local_paths(settings)
    java_options = _java_options(settings.spark.java_options)
    # Jars are given to the executors by the driver, wherever those run.
    more_jars = [] if settings.spark.jars is None else settings.spark.jars.split(",")
    builder = (
        SparkSession.Builder()
        .appName(name)
        .master(settings.spark_master)
        .config("spark.jars", ",".join([*map(str, connector_jars()), *more_jars]))
        .config("spark.driver.memory", settings.spark.driver_memory)
        .config("spark.executor.memory", settings.spark.executor_memory)
        .config("spark.driver.extraJavaOptions", java_options)
        .config("spark.executor.extraJavaOptions", java_options)
        # The real-time query holds slots for good: waiting for one near the data would cost seconds in every stage.
        .config("spark.locality.wait", "0s")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "WARN")
        # Else every call on a column asks the JVM five times where it was made: half of the time to build a batch's plan.
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        # The stages generate more classes than the default cache of 100 holds; without room each batch compiles anew.
        .config("spark.sql.codegen.cache.maxEntries", "5000")
        # What was fetched from Kafka and not read on stays for five minutes by default: tens of MB a partition and query.
        .config("spark.kafka.consumer.fetchedData.cache.timeout", "30s")
        .config("spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval", "30s")
        # What a task gathers before it writes to the lake; by default 128 MB each, and a large batch has several at once.
        .config("spark.hadoop.parquet.block.size", str(32 * 1024 * 1024))
        # A batch holds few days: a file for each at once, instead of sorting all readings by day before they are written.
        .config("spark.sql.maxConcurrentOutputFileWriters", "4")
        # What a held batch has on disk is read in pieces of some MB, and all of the last hundred would stay in memory.
        .config("spark.serializer.objectStreamReset", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(settings.kafka.partitions))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        # A batch that waits for somebody else's work must not hold up the stop for ever; it is taken again after a start.
        .config("spark.sql.streaming.stopTimeout", f"{STOP_SECONDS}s")
        # Keys that come twice in a message: the last one counts, as in every JSON reader.
        .config("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.warehouse.dir", str(settings.home.absolute() / "warehouse"))
    )
    host = cluster.driver_host(settings)
    given = {"spark.driver.host": host, "spark.jars.packages": settings.spark.packages}
    given |= {**(more or {}), **settings.spark.conf}
    for option, value in given.items():
        builder = builder if value is None else builder.config(option, value)
    session = builder.getOrCreate()
    _hush(
        session, "org.apache.spark.sql.util.CaseInsensitiveStringMap"
    )  # a line for each look into the lake's changes
    session.sparkContext.pythonExec = _executors_python(settings, session.sparkContext.pythonExec)
    return session


def _executors_python(settings: Settings, chosen: str) -> str:
    """As the setting says, or PYSPARK_PYTHON; without either the path of this one, and not the first `python3` there is."""
    if settings.spark.python is not None:
        return settings.spark.python
    return sys.executable if chosen == "python3" else chosen


def _java_options(more: str | None) -> str:
    """Ours and more; the JVM does not start with two collectors, so one that is chosen there takes the place of ours."""
    own = [_JAVA_OPTIONS] if _CHOSEN_COLLECTOR.search(more or "") else [_JAVA_OPTIONS, _COLLECTOR]
    return " ".join([*own, *([more] if more else [])])


def _hush(session: SparkSession, logger: str) -> None:
    """This logger says nothing that anybody can use."""
    log4j = session._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # there is one as long as the session is
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.ERROR)
