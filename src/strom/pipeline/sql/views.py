"""The views that a query names, and only those: Spark is asked which name it misses, and that view is made."""

import difflib
import re
from collections.abc import Callable

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame

from strom.errors import StromError
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.spark_words import refused
from strom.pipeline.sql.statement import check_query, is_explain, query_of
from strom.settings import Settings
from strom.streams import topics
from strom.streams.admin import topic_names

READINGS = "readings"
# Tables and views of Postgres. Live, those with a topic are what comes on it.
TABLES = (
    "load_profile", "quarter_hours", "gaps", "tariff_profile", "tariff_gaps", "alerts", "meters", "readings_latest",
)  # fmt: skip
_LIVE_TOPICS = {"load_profile": topics.LOAD_PROFILE, "alerts": topics.ALERTS}
TOPIC, TABLE = "topic:", "table:"
_PARTS = re.compile(r"`((?:[^`]|``)*)`")


class Views:
    """Makes views by name; `made` tells where each came from, `topics` which topics are read.

    Unless it `asks_kafka`, every name that is not known is taken for a topic.
    """

    def __init__(
        self,
        settings: Settings,
        sources: Sources,
        report: Callable[[str], None] = lambda line: None,
        *,
        asks_kafka: bool = True,
    ) -> None:
        self.made: set[str] = set()
        self.topics: set[str] = set()
        self._spark = sources.spark
        self._settings = settings
        self._sources = sources
        self._report = report
        self._asks_kafka = asks_kafka

    def query(self, text: str) -> DataFrame:
        """The text as a frame of rows. Nothing but a query is taken."""
        check_query(self._spark, text)
        frame = self._resolved(query_of(text))
        return self._spark.sql(text) if is_explain(text) else frame

    def _resolved(self, query: str) -> DataFrame:
        while True:
            try:
                return self._spark.sql(query)
            except AnalysisException as error:
                name = _missing(error)
                if name is None or name in self.made:
                    raise refused(error) from None
                self._make(name)
            except PySparkException as error:
                raise refused(error) from None

    def _make(self, name: str) -> None:
        try:
            self._frame(name).createOrReplaceTempView(f"`{name.replace('`', '``')}`")
        except PySparkException as error:
            raise refused(error) from None
        self.made.add(name)

    def _frame(self, name: str) -> DataFrame:
        known, live = name.lower(), self._sources.live is not None
        if known == READINGS:
            if not live and self._sources.has_lake():
                self._report("readings: from the lake")
                return self._sources.lake()
            self._report(f"readings: from the topic at {self._settings.kafka_bootstrap}")
            self._known_topic(topics.READINGS)
            return self._sources.readings()
        if live and known in _LIVE_TOPICS:
            return self._topic(_LIVE_TOPICS[known])
        if known.removeprefix(TABLE) in TABLES:
            self._report(f"{name}: from Postgres")
            return self._sources.table(known.removeprefix(TABLE))
        return self._topic(name.removeprefix(TOPIC))

    def _topic(self, name: str) -> DataFrame:
        self._known_topic(name)
        self._report(f"{name}: from the topic at {self._settings.kafka_bootstrap}")
        return self._sources.topic(name)

    def _known_topic(self, name: str) -> None:
        self.topics.add(name)
        if not self._asks_kafka:
            return
        existing = topic_names(self._settings)
        if name not in existing:
            close = difflib.get_close_matches(name, [READINGS, *TABLES, *existing], n=1)
            hint = f"did you mean `{close[0]}`?" if close else "`strom topics list` shows the topics."
            raise StromError(f"There is no view, table or topic named {name}; {hint}")


def _missing(error: AnalysisException) -> str | None:
    """The name that the query uses and nobody knows yet."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    quoted = (error.getMessageParameters() or {}).get("relationName", "")
    parts = [part.replace("``", "`") for part in _PARTS.findall(quoted)]
    if len(parts) > 1:
        raise StromError(
            f"There is no table {'.'.join(parts)}; a topic whose name has a dot stands in backticks as a whole: `{'.'.join(parts)}`."
        )
    return parts[0] if parts else None
