"""Spark Connect in the pipeline's own session: other programs of the same user ask here, beside the queries.

Its jobs run in a scheduler pool of their own. Whoever has the token may do anything that the session can.
"""

import logging
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.cluster import task_slots
from strom.pipeline.pools import QUESTIONS, in_pool
from strom.pipeline.quiet import hush_pyspark
from strom.pipeline.slot_guard import SlotGuard
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.views import READINGS, TABLES
from strom.settings import Settings
from strom.supervision import SupervisedThread

_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"
_TOKEN = "spark.connect.authenticate.token"  # noqa: S105 - the name of the option
_ERRORS = "org.apache.spark.sql.connect.utils.ErrorUtils"
_SPLIT = "spark.sql.files.maxPartitionBytes"
_PORTS = 16  # tried after the one that is set, each one higher
_VIEW_SECONDS = 5.0  # between two looks for what can be a view by now

log = logging.getLogger(__name__)


def connect_options(settings: Settings) -> dict[str, str]:
    """What the session must be told when it starts; the token is not among it, for these stand in the process list."""
    if not settings.sql.connect:
        return {}
    return {
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": str(files("strom.pipeline") / "pools.xml"),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(settings.sql.connect_port),
        "spark.connect.grpc.port.maxRetries": str(_PORTS),
        # What waits for a client is in the pipeline's own memory.
        "spark.driver.maxResultSize": "512m",
    }


@contextmanager
def connect_server(spark: SparkSession, settings: Settings, needed: int) -> Iterator[None]:
    """Answer questions within this block, if it is wanted and can be; the pipeline goes on without it, too.

    `needed` task slots are the stream's.
    """
    settings.connect_url.unlink(missing_ok=True)  # of one that was killed
    if not _is_started(spark, settings, needed):
        yield
        return
    stopped = threading.Event()
    views = SupervisedThread("views", lambda: _offer_views(spark, settings, stopped), stopped, log)
    views.start()
    try:
        with SlotGuard(spark).watching():
            yield
    finally:
        settings.connect_url.unlink(missing_ok=True)
        stopped.set()
        views.join(_VIEW_SECONDS)
        _stop(spark)


def _is_started(spark: SparkSession, settings: Settings, needed: int) -> bool:
    if not settings.sql.connect:
        return False
    if task_slots(spark) <= needed:
        log.warning(
            "the stream needs all task slots of %s: no questions are taken by Spark Connect; give it one more",
            settings.spark_master,
        )
        return False
    token = secrets.token_urlsafe(32)
    try:
        port = _serve(spark, token)
    except Py4JError as error:
        log.warning("no questions are taken by Spark Connect: %s", _reason(error))
        return False
    _write_privately(settings.connect_url, f"sc://localhost:{port}/;token={token}\n")
    log.info("questions are taken by Spark Connect on 127.0.0.1:%d, as %s says", port, settings.connect_url)
    return True


def _offer_views(spark: SparkSession, settings: Settings, stopped: threading.Event) -> None:
    """What `strom sql` knows by name as global views, as soon as it is there: the lake comes with its first batch."""
    hush_pyspark()
    sources = Sources(spark, settings)
    missing = [READINGS, *TABLES]
    while missing:
        try:
            for name in list(missing):
                if name == READINGS and not sources.has_lake():
                    continue
                frame = sources.lake() if name == READINGS else sources.table(name)
                frame.createOrReplaceGlobalTempView(name)
                missing.remove(name)
        except (StromError, PySparkException, Py4JError):
            pass  # Postgres is away, or has no tables yet
        if stopped.wait(_VIEW_SECONDS):
            return


def _serve(spark: SparkSession, token: str) -> int:
    """Listen, and return the port."""
    context = spark.sparkContext
    conf = context._jsc.sc().conf()
    # Of sessions that begin later: short tasks give their slot back soon, and hold little of a result at once.
    conf.setIfMissing(_SPLIT, "8m")
    conf.set(_TOKEN, token)
    _hush_errors(spark)
    # Every thread of the server inherits the pool from the one that starts it: clients need not name it.
    try:
        with in_pool(spark, QUESTIONS):
            service = _service(spark)
            service.start(context._jsc.sc())
            return int(service.localPort())
    finally:
        conf.remove(_TOKEN)  # the server has read it; executors are told the options


def _hush_errors(spark: SparkSession) -> None:
    """A question's error goes to whoever asks; the server would log it, too, with its stack."""
    log4j = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # there is one as long as the session is
    log4j.core.config.Configurator.setLevel(_ERRORS, log4j.Level.OFF)


def _stop(spark: SparkSession) -> None:
    none = spark._jvm.scala.Option.empty()  # type: ignore[union-attr]  # there is one as long as the session is
    try:
        _service(spark).stop(none, none)
    except Py4JError as error:
        log.warning("Spark Connect did not stop in order: %s", _reason(error))


def _service(spark: SparkSession) -> Any:
    return getattr(getattr(spark._jvm, _SERVICE), "MODULE$")


def _write_privately(path: Path, text: str) -> None:
    """Readable by its owner from the first moment, and replaced as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
    ) as file:
        file.write(text)
    fresh.replace(path)


def _reason(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[1] if len(lines) > 1 else lines[0]
