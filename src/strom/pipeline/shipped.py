"""A function for the executors that is read there only when Strom's libraries have been found.

This module itself must be readable with nothing but Spark's own Python.
"""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pyspark import SparkFiles, cloudpickle

FOLDER = "strom-libraries"  # as executors name what they were sent

Function = TypeVar("Function", bound=Callable[..., Any])


class Shipped:
    """Stands for the function until it is sent."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *values: Any) -> Any:
        return self._function(*values)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return _read, (cloudpickle.dumps(self._function),)  # type: ignore[no-untyped-call]


def _read(pickled: bytes) -> Any:
    folder = str(Path(SparkFiles.getRootDirectory()) / FOLDER)
    if folder not in sys.path and Path(folder).is_dir():
        sys.path.insert(1, folder)
    return pickle.loads(pickled)  # noqa: S301 - the driver has made it
