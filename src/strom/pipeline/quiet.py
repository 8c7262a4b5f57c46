"""Spark's own words go to a log file: a terminal is for the result."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.ending import first_line
from strom.pipeline.session import build_session
from strom.settings import Settings


@contextmanager
def quiet_session(settings: Settings, verb: str) -> Iterator[SparkSession]:
    """A session for one command; what Java has to say is in a log of the command's name below the home."""
    hush_pyspark()
    log = settings.home.absolute() / "logs" / f"{verb}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _standard_error_into(log):
            spark = build_session(settings, f"strom-{verb}")
    except StromError:
        raise
    except Exception as error:
        raise StromError(
            f"Spark did not start ({first_line(error)}); {log} tells more.", exit_code=1
        ) from None
    try:
        yield spark
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.stop()


def hush_pyspark() -> None:
    """PySpark logs each error of a query with its stack before it raises it; it becomes a sentence here."""
    logging.getLogger("SQLQueryContextLogger").disabled = True


@contextmanager
def _standard_error_into(log: Path) -> Iterator[None]:
    """For the time of this block; a process that is started in it keeps the file."""
    sys.stderr.flush()
    ours = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(file)
