"""A session in the running pipeline by Spark Connect: nothing is started here, and what was asked ends with the block."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.quiet import hush_pyspark, quiet_session
from strom.pipeline.sql.spark_words import gone, is_gone, refused
from strom.settings import Settings

_MODE = "SPARK_CONNECT_MODE_ENABLED"  # by this, functions of pyspark know which kind of column to make
_AGAIN = 3  # a call is tried so often again; by default for ten minutes


class NoPipelineError(StromError):
    """Nobody answers at this address, or not us; says why."""


@contextmanager
def question_session(
    settings: Settings, url: str | None, report: Callable[[str], None]
) -> Iterator[tuple[SparkSession, bool]]:
    """In the pipeline that answers at this URL; in a Spark of its own where none does. And which of the two it is."""
    with ExitStack() as stack:
        session = None
        if url is not None:
            try:
                session = stack.enter_context(remote_session(url))
                report("the running pipeline answers")
            except NoPipelineError as error:
                report(f"not asked in the running pipeline: {error}")
        if session is None:
            report("Spark starts")
            yield stack.enter_context(quiet_session(settings, "sql")), False
            return
        try:
            yield session, True
        except (StromError, PySparkException):
            if url_of(settings) == url:
                raise
            raise gone() from None  # it ended questions, too, and Spark tells that in many ways


def url_of(settings: Settings) -> str | None:
    """Where the pipeline of this home says that it answers, with the token."""
    try:
        return settings.connect_url.read_text(encoding="ascii").strip()
    except OSError:
        return None


@contextmanager
def remote_session(url: str) -> Iterator[SparkSession]:
    """A session there. At the end of the block, by whatever it ends, the server ends what still runs for it."""
    hush_pyspark()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # told by a sentence
        session = _connected(url)
        os.environ[_MODE] = "1"
        try:
            yield session
        except PySparkException as error:
            raise refused(error) from None
        finally:
            session.stop()
            del os.environ[_MODE]


def _connected(url: str) -> SparkSession:
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession as RemoteSession
    except ImportError as error:
        raise NoPipelineError(f"pyspark's client for Spark Connect cannot be used ({error})") from None
    session = RemoteSession(url)
    session.client.set_retry_policies([DefaultPolicy(max_retries=_AGAIN)])
    try:
        session.version  # noqa: B018 - the first call
    except PySparkException as error:
        session.stop()
        if not is_gone(error):
            raise
        raise NoPipelineError("the pipeline does not answer") from None
    return session  # type: ignore[return-value]  # of the same shape, but not a subclass
