"""What a replay in place needs of the lake, taken from it in one read: by groups of meters, on disk until the replay is done.

What the lake gets meanwhile is added by its versions, each of them once. A reading may lie here twice; to the tables that
is the same reading.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.pipeline.lake.archive import COLUMNS, SCHEMA

_GROUP = "meters"  # the folders of the groups are named by it


class Staged:
    """`folder`: below the checkpoints, where all executors reach it; a meter is always in the same one of so many groups."""

    def __init__(self, spark: SparkSession, folder: str, groups: int) -> None:
        self._spark = spark
        self._folder = folder
        self._groups = groups
        jvm: Any = spark._jvm
        self._path: Any = jvm.org.apache.hadoop.fs.Path(folder)
        self._files: Any = self._path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def is_complete(self, name: str) -> bool:
        """Whether this part was written to its end."""
        jvm: Any = self._spark._jvm
        return bool(self._files.exists(jvm.org.apache.hadoop.fs.Path(f"{self._folder}/{name}/_SUCCESS")))

    def write(self, name: str, readings: DataFrame) -> None:
        """Put these readings there as a part of that name, or in the place of one."""
        (
            readings.select(*COLUMNS, self._group().alias(_GROUP))
            .repartition(self._groups, _GROUP)
            .write.mode("overwrite")
            .partitionBy(_GROUP)
            .parquet(f"{self._folder}/{name}")
        )

    def everything(self) -> DataFrame:
        return self._all().select(*COLUMNS)

    def counts(self) -> Mapping[int, int]:
        """Readings of each group that has any; told by the files' footers."""
        return dict(self._all().groupBy(_GROUP).count().collect())

    def meters(self) -> set[str]:
        return {row["meter"] for row in self._all().select("meter").distinct().collect()}

    def group(self, number: int) -> DataFrame:
        return self._all().where(F.col(_GROUP) == number).select(*COLUMNS)

    def remove(self) -> None:
        self._files.delete(self._path, True)

    def _group(self) -> Column:
        return F.pmod(F.xxhash64("meter"), F.lit(self._groups)).cast("int")

    def _all(self) -> DataFrame:
        schema = f"{SCHEMA}, {_GROUP} int"
        parts = [
            self._spark.read.schema(schema).parquet(f"{self._folder}/{name}")
            for name in self._complete_parts()
        ]
        return reduce(DataFrame.unionByName, parts)

    def _complete_parts(self) -> list[str]:
        names = [str(each.getPath().getName()) for each in self._files.listStatus(self._path)]
        return [name for name in names if self.is_complete(name)]
