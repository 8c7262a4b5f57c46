"""Where rows come from: topics as they are or as they come, the lake, the tables of Postgres. Knows no query."""

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.errors import StromError
from strom.pipeline.lake.archive import TABLE, lake_rows
from strom.pipeline.message import parsable
from strom.pipeline.readings import typed_readings
from strom.pipeline.sql.topic_types import EVENT_TIMES, ddl, fields_of, is_typed
from strom.settings import Settings
from strom.store.asking import require_table
from strom.store.jdbc import jdbc_options
from strom.streams import topics
from strom.streams.start import Kind, Start

_FETCH_ROWS = "10000"
_NO_LAKE = (
    "PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_MISSING_DELTA_TABLE", "DELTA_SCHEMA_NOT_SET",
)  # fmt: skip
_META = ("key", "partition", "offset", "timestamp", "headers")


@dataclass(frozen=True)
class Live:
    """How topics are followed: from where, and how late a record may come and still count."""

    start: Start
    late_ms: int

    def __post_init__(self) -> None:
        if self.start.kind is Kind.OFFSET:
            raise StromError("A live query begins at earliest, latest or a time, not at an offset.")

    @property
    def late(self) -> str:
        return f"{self.late_ms} milliseconds"


class Sources:
    """`live` is None for what is there now."""

    def __init__(self, spark: SparkSession, settings: Settings, live: Live | None = None) -> None:
        self.live = live
        self.spark = spark
        self._settings = settings

    def has_lake(self) -> bool:
        try:
            self.lake().schema  # noqa: B018 - looks for it
        except AnalysisException as error:
            if error.getCondition() in _NO_LAKE:
                return False
            raise
        return True

    def lake(self) -> DataFrame:
        """Every reading that the pipeline has taken in, each once."""
        return self.spark.read.format("delta").load(self._lake)

    def readings(self) -> DataFrame:
        """The topic `readings` in the form of the lake, each origin once as far as `late` goes back."""
        records = typed_readings(self._records(topics.READINGS))
        if self.live is None:
            return lake_rows(records.dropDuplicates(["origin"]))
        once = records.withWatermark("at", self.live.late).dropDuplicatesWithinWatermark(["origin"])
        return lake_rows(once)

    def topic(self, name: str) -> DataFrame:
        """Fields of the value for topics of the contract; the value as text for any other."""
        records = self._records(name).withColumns(
            {
                "key": F.col("key").cast("string"),
                "value": F.col("value").cast("string"),
                "headers": F.map_from_entries(
                    F.transform(
                        F.coalesce("headers", F.array().cast("array<struct<key:string,value:binary>>")),
                        lambda each: F.struct(each["key"], each["value"].cast("string")),
                    )
                ),
            }
        )
        if not is_typed(name):
            return self._timed(records.select("value", *_META), "timestamp")
        # A record without a value takes back what its key said: no row, least of all one of nulls.
        told = records.where(F.col("value").isNotNull())
        parsed = told.withColumn("parsed", F.from_json(parsable(F.col("value")), ddl(fields_of(name))))
        return self._timed(parsed.select("parsed.*", *_META), EVENT_TIMES.get(name, "timestamp"))

    def table(self, name: str) -> DataFrame:
        """A table of Postgres as it is at this moment; a live query reads it anew with every batch."""
        # What is missing is one sentence here, and a page there.
        require_table(self._settings.postgres_url, name)
        options = jdbc_options(self._settings.postgres_url)
        return (
            self.spark.read.format("jdbc")
            .options(
                **options,
                dbtable=name,
                fetchsize=_FETCH_ROWS,
                sessionInitStatement="SET default_transaction_read_only = on",
            )
            .load()
        )

    @property
    def _lake(self) -> str:
        return f"{self._settings.lake_root.rstrip('/')}/{TABLE}"

    def _timed(self, frame: DataFrame, column: str) -> DataFrame:
        return frame if self.live is None else frame.withWatermark(column, self.live.late)

    def _records(self, topic: str) -> DataFrame:
        options = {
            "kafka.bootstrap.servers": self._settings.kafka_bootstrap,
            "subscribe": topic,
            "includeHeaders": "true",
            "failOnDataLoss": "false",
            "kafka.isolation.level": "read_committed",
            "kafka.max.partition.fetch.bytes": str(4 * topics.MAX_MESSAGE_BYTES),
        }
        if self.live is None:
            return self.spark.read.format("kafka").options(**options, startingOffsets="earliest").load()
        limit = str(self._settings.pipeline.max_batch)
        begin = _start_options(self.live.start)
        return (
            self.spark.readStream.format("kafka")
            .options(**options, **begin, maxOffsetsPerTrigger=limit)
            .load()
        )


def _start_options(start: Start) -> dict[str, str]:
    if start.kind is Kind.TIME:
        return {"startingTimestamp": str(max(0, start.value)), "startingOffsetsByTimestampStrategy": "latest"}
    return {"startingOffsets": start.kind.value}
