"""What differs when the pipeline runs on a cluster: how its executors reach it, and whether there are enough of them.

Knows Spark's session and no stage; the same code asks local threads, which are there at once.
"""

import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANSWER_SECONDS = 5.0
TELL_SECONDS = 5.0  # how often waiting is told

log = logging.getLogger(__name__)


def is_local(settings: Settings) -> bool:
    return settings.spark_master.startswith("local")


def is_on_this_machine(settings: Settings) -> bool:
    """Whether all executors see the driver's files."""
    return is_local(settings) or driver_host(settings) in LOOPBACK


def driver_host(settings: Settings) -> str | None:
    """Where executors find the driver; None leaves it to Spark, which takes this host's name."""
    if settings.spark.driver_host is not None:
        return settings.spark.driver_host
    masters = [host for host, _ in _addresses(settings.spark_master)]
    here = is_local(settings) or (masters and all(host in LOOPBACK for host in masters))
    return "127.0.0.1" if here else None


def refuse_if_away(settings: Settings) -> None:
    """Spark itself would try for a minute and then tell of a stopped context."""
    addresses = _addresses(settings.spark_master)
    reasons: list[str] = []
    for address in addresses:
        try:
            socket.create_connection(address, timeout=ANSWER_SECONDS).close()
            return
        except OSError as error:
            reasons.append(error.strerror or str(error))
    if addresses:
        raise StromError(
            f"No Spark master answers at {settings.spark_master} ({reasons[0]}): start one with "
            "`strom stack spark`, or correct spark.master."
        )


def warn_of_local_paths(settings: Settings) -> None:
    """A path means another disk on every machine; only a shared folder or a URL is one place for all."""
    if is_on_this_machine(settings):
        return
    for name, root in (("lake", settings.lake_root), ("checkpoints", settings.checkpoint_root)):
        if "://" not in root:
            log.warning(
                "pipeline.%s is the path %s: the executors must see the same folder there; else name a URL",
                name,
                root,
            )


def await_slots(
    spark: SparkSession, settings: Settings, needed: int, stopped: Callable[[float], bool]
) -> None:
    """Wait until the executors can run so many tasks at once; a cluster that cannot is refused.

    `stopped` waits for that many seconds and tells whether the pipeline is to end.
    """
    began, told = time.monotonic(), 0.0
    while (slots := task_slots(spark)) < needed:
        waited = time.monotonic() - began
        if is_local(settings) or waited > settings.spark.wait_seconds:
            raise StromError(_too_few(settings, slots, needed))
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            log.info("waiting for executors: %d of %d task slots after %.0f s", slots, needed, waited)
        if stopped(0.2):
            return
    if not is_local(settings):
        log.info("%s gives %d task slots; %d are needed", settings.spark_master, slots, needed)


def remove_folder(spark: SparkSession, folder: str) -> None:
    """With all that is in it, from whatever file system Spark reaches; one that is not there is no error."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


def _too_few(settings: Settings, slots: int, needed: int) -> str:
    if is_local(settings):
        return (
            f"spark.master is {settings.spark_master}, which runs {slots} tasks at once, but the pipeline needs "
            f"{needed}, one for each partition of the raw topic and one more: set it to local[{needed}] or higher."
        )
    if slots == 0:
        return (
            f"No executor came from {settings.spark_master} within {settings.spark.wait_seconds:g} s: give the cluster "
            f"a worker with a free core and {settings.spark.executor_memory} of memory (spark.executor_memory)."
        )
    return (
        f"{settings.spark_master} gives {slots} task slots, but the pipeline needs {needed}, one for each partition "
        "of the raw topic and one more: add workers or cores, or end other applications there."
    )


def task_slots(spark: SparkSession) -> int:
    """How many tasks can run at once."""
    context = spark.sparkContext._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def _addresses(master: str) -> list[tuple[str, int]]:
    """Of a standalone master, of which there may be several; other kinds of master have none that we know."""
    if not master.startswith("spark://"):
        return []
    found = [each.rpartition(":") for each in master.removeprefix("spark://").split(",")]
    if not all(host and port.isdecimal() for host, _, port in found):
        raise StromError(f"spark.master is {master!r}: write it as spark://host:port, or local[8].")
    return [(host, int(port)) for host, _, port in found]
