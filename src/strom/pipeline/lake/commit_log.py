"""The commit files of a Delta table's log: which still exist, when they were written, and their user metadata.

The log of a busy table has tens of thousands of them. Delta's `history()` reads all; bisection reads a few.
"""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

OPTION = "userMetadata"  # Delta's name for text that a writer adds to its commit
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
        """Whether this commit's file still exists; Delta deletes the oldest first."""
        return bool(self._files.exists(self._path(self._file(version))))

    def oldest(self, newest: int) -> int:
        """The first version whose commit file still exists."""
        deleted, existing = -1, newest
        while existing - deleted > 1:
            middle = (deleted + existing) // 2
            if self.has(middle):
                existing = middle
            else:
                deleted = middle
        return existing

    def written_ms(self, version: int) -> int:
        """When the commit was written, in epoch ms."""
        return int(self._files.getFileStatus(self._path(self._file(version))).getModificationTime())

    def newest_at(self, epoch_ms: int, newest: int) -> int | None:
        """The version that was the newest at a time; None where its commit was deleted or there was none."""
        first = self.oldest(newest)
        if self.written_ms(first) > epoch_ms:
            return None
        before, after = first, newest + 1
        while after - before > 1:
            middle = (before + after) // 2
            if self.written_ms(middle) <= epoch_ms:
                before = middle
            else:
                after = middle
        return before

    def newest_metadata(self, first: int, last: int, containing: str) -> str | None:
        """The user metadata of the newest of these commits that has this text in it."""
        files = [self._file(version) for version in range(first, last + 1)]
        metadata = F.col("commitInfo")[OPTION]
        found = (
            self._spark.read.schema(_COMMIT)
            .json(files)
            .where(F.contains(metadata, F.lit(containing)))
            .agg(F.max_by(metadata, F.col("_metadata.file_name")))
            .collect()
        )
        return None if found[0][0] is None else str(found[0][0])

    def _file(self, version: int) -> str:
        return f"{self._folder}/{version:020d}.json"
