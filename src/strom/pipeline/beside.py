"""Work in a thread of its own, while the one that began it goes on."""

from collections.abc import Callable
from typing import Generic, TypeVar

from pyspark import InheritableThread

Result = TypeVar("Result")


class Beside(InheritableThread, Generic[Result]):
    """Begins at once, under the same query; `result` waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], Result], name: str) -> None:
        self._found: Result
        self._error: BaseException | None = None
        super().__init__(target=self._kept, args=(work,), name=name)
        self.start()

    def result(self) -> Result:
        self.join()
        if self._error is not None:
            raise self._error
        return self._found

    def _kept(self, work: Callable[[], Result]) -> None:
        try:
            self._found = work()
        except BaseException as error:
            self._error = error
