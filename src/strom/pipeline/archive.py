"""Keeps every reading in the Delta table `readings`, typed and by date; reads it back for meters that need it."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS

TABLE = "readings"
SMALL_BATCH = 50_000  # readings that fit one file: a micro-batch makes one file a day, not one per task

_HEAD = ("meter", "at", "received", "source", "clock")
_TAIL = ("meter_number", "other", "flags", "origin")
COLUMNS = (*_HEAD, *NUMBER_FIELDS, *_TAIL)


class Archive:
    """The lake's `readings`; appending the same batch of the same writer twice adds it once."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        # The log of one table is small; by default Delta reads it in 50 tasks, which costs a second each time.
        spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
        self.path = f"{root.rstrip('/')}/{TABLE}"
        self._made = False

    def append(self, fresh: DataFrame, count: int, *, writer: str, batch_id: int) -> None:
        if count == 0:
            return
        self._make()
        rows = lake_rows(fresh)
        (rows.coalesce(1) if count <= SMALL_BATCH else rows).write.format("delta").mode("append").option(
            "txnAppId", writer
        ).option("txnVersion", batch_id).save(self.path)

    def read_since(self, since: dict[str, int | None]) -> DataFrame:
        """Readings of these meters after the given times (epoch ms; None: all of them)."""
        rows = [(meter, -1 if time is None else time) for meter, time in since.items()]
        wanted = F.broadcast(self.spark.createDataFrame(rows, "wanted string, since bigint"))
        first = min(time for _, time in rows)
        return (
            self.spark.read.format("delta")
            .load(self.path)
            .where(F.col("date") >= F.to_date(F.timestamp_millis(F.lit(max(first, 0)))))
            .join(wanted, (F.col("meter") == F.col("wanted")) & (F.unix_millis("at") > F.col("since")))
            .repartition("meter")
            # The lake keeps columns, not the JSON; nobody asks for it when looking back.
            .withColumn("value", F.lit(None).cast("string"))
        )

    def _make(self) -> None:
        """The table joins small files by itself; without that a day of micro-batches is 86,400 files."""
        if self._made:
            return
        columns = ", ".join(f"{name} {_type(name)}" for name in (*COLUMNS, "date"))
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{self.path}` ({columns}) USING delta PARTITIONED BY (date) "
            "TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true', 'delta.checkpointInterval' = '50', "
            "'delta.dataSkippingStatsColumns' = 'meter,at')"
        )
        self._made = True


def lake_rows(fresh: DataFrame) -> DataFrame:
    return fresh.select(*COLUMNS, F.to_date("at").alias("date"))


def _type(name: str) -> str:
    if name in NUMBER_FIELDS:
        return "decimal(18,3)"
    return {"at": "timestamp", "received": "timestamp", "flags": "array<string>", "date": "date"}.get(
        name, "string"
    )
