"""What a query that keeps its own state has written down after each batch, beside its checkpoint and as lasting as that.

A batch that is repeated begins with the state before it, so that the same comes of it. Any file system that Spark can
reach; knows nothing of what the state says.
"""

import json
from typing import Any

from pyspark.sql import SparkSession

from strom.errors import StromError

_UNFINISHED = "."  # how the name of a file begins that is being written

Name = tuple[int, int]  # the batch, and how often its state was written


class BatchStates:
    def __init__(self, spark: SparkSession, folder: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._folder = jvm.org.apache.hadoop.fs.Path(folder)
        context: Any = spark.sparkContext._jsc
        self._files = self._folder.getFileSystem(context.hadoopConfiguration())

    def before(self, batch: int) -> tuple[int, Any] | None:
        """The newest state of a batch before this one, with the number of that batch."""
        names = [name for name in self._names() if name[0] < batch]
        if not names:
            return None
        stream = self._files.open(self._path(names[-1]))
        try:
            return names[-1][0], json.loads(bytes(stream.readAllBytes()))
        finally:
            stream.close()

    def save(self, batch: int, state: Any) -> None:
        """There is all of it or nothing; it takes the place of what the batch has written before."""
        names = self._names()
        turn = max((turn for number, turn in names if number == batch), default=-1) + 1
        unfinished = self._jvm.org.apache.hadoop.fs.Path(self._folder, f"{_UNFINISHED}{batch}")
        stream = self._files.create(unfinished, True)
        try:
            stream.write(bytearray(json.dumps(state, separators=(",", ":")).encode()))
        finally:
            stream.close()
        if not self._files.rename(unfinished, self._path((batch, turn))):
            raise StromError(f"{self._folder} cannot be written to; make room there, or correct its rights.")
        self._forget(names, batch)

    def _forget(self, names: list[Name], batch: int) -> None:
        """All but the newest state of the batch before: later batches are of a checkpoint that is gone."""
        before = max((name for name in names if name[0] < batch), default=None)
        for name in names:
            if name != before:
                self._files.delete(self._path(name), False)

    def _names(self) -> list[Name]:
        """In their order."""
        if not self._files.exists(self._folder):
            return []
        found = (status.getPath().getName().split("-") for status in self._files.listStatus(self._folder))
        return sorted(
            (int(name[0]), int(name[1])) for name in found if all(part.isdecimal() for part in name)
        )

    def _path(self, name: Name) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._folder, _text(name))


def _text(name: Name) -> str:
    return f"{name[0]}-{name[1]}"
