"""The commits of a Delta table, one file each: which are still there, when they were made, what their writers said.

A log has tens of thousands of them. Delta's own `history()` reads all; here single files are looked at, found by bisection.
"""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

OPTION = "userMetadata"  # Delta's name for words of the writer in a commit
_COMMIT = f"commitInfo struct<{OPTION}: string>"


class CommitLog:
    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark = spark
        self._folder = f"{table.rstrip('/')}/_delta_log"
        jvm: Any = spark._jvm
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._files: Any = self._path(self._folder).getFileSystem(
            spark._jsparkSession.sessionState().newHadoopConf()
        )

    def has(self, version: int) -> bool:
        """Whether it can still be told what this commit did; Delta removes the oldest first."""
        return bool(self._files.exists(self._path(self._file(version))))

    def oldest(self, newest: int) -> int:
        """The first version of which the commit is there."""
        gone, there = -1, newest
        while there - gone > 1:
            middle = (gone + there) // 2
            if self.has(middle):
                there = middle
            else:
                gone = middle
        return there

    def made_ms(self, version: int) -> int:
        """When the commit was made, in epoch ms."""
        return int(self._files.getFileStatus(self._path(self._file(version))).getModificationTime())

    def newest_at(self, epoch_ms: int, newest: int) -> int | None:
        """The version that was the newest at a time; None where its commit is gone or there was none."""
        first = self.oldest(newest)
        if self.made_ms(first) > epoch_ms:
            return None
        before, after = first, newest + 1
        while after - before > 1:
            middle = (before + after) // 2
            if self.made_ms(middle) <= epoch_ms:
                before = middle
            else:
                after = middle
        return before

    def last_words(self, first: int, last: int, containing: str) -> str | None:
        """What the newest of these commits said whose words contain this text."""
        files = [self._file(version) for version in range(first, last + 1)]
        words = F.col("commitInfo")[OPTION]
        told = (
            self._spark.read.schema(_COMMIT)
            .json(files)
            .where(F.contains(words, F.lit(containing)))
            .agg(F.max_by(words, F.col("_metadata.file_name")))
            .collect()
        )
        return None if told[0][0] is None else str(told[0][0])

    def _file(self, version: int) -> str:
        return f"{self._folder}/{version:020d}.json"
