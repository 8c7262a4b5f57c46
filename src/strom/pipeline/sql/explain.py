"""What Spark makes of the users' own queries; nothing is run, and Postgres is asked only for tables that a query names."""

from collections.abc import Iterator
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from strom.errors import StromError
from strom.pipeline.explain import Step, step_of
from strom.pipeline.sql.into import records_of
from strom.pipeline.sql.query_files import query_paths, read_query, refuse_no_folder
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.spark_words import as_sentence
from strom.pipeline.sql.user_queries import wish_of
from strom.pipeline.sql.views import Views
from strom.settings import Settings


def query_steps(spark: SparkSession, settings: Settings, folder: Path) -> Iterator[Step]:
    """One step a file; a query that cannot be planned says why."""
    refuse_no_folder(folder)
    for path in query_paths(folder):
        try:
            yield _step(spark, settings, path)
        except StromError as error:
            yield Step(path.name, "a query of yours", why_not=str(error))
        except (PySparkException, Py4JError) as error:
            yield Step(path.name, "a query of yours", why_not=as_sentence(error))


def _step(spark: SparkSession, settings: Settings, path: Path) -> Step:
    wish = wish_of(settings, read_query(path))
    sources = Sources(spark.newSession(), settings, wish.live)
    frame = records_of(Views(settings, sources, asks_kafka=False).query(wish.text))
    return step_of(path.name, f"a query of yours, into {wish.into}", frame)
