"""Whether Kafka and Postgres answer, and since when; it asks neither of them itself."""

from collections.abc import Callable
from datetime import UTC, datetime

from strom.serve.models import Line, LineState

Clock = Callable[[], float]  # epoch seconds


class LineWatch:
    """The state of one connection; `changed` is called when it changes."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._line = Line(state="starting", since=self._now())

    @property
    def line(self) -> Line:
        return self._line

    def tell(self, answers: bool, reason: str = "") -> bool:
        """Note what was just seen; True if that is news."""
        state: LineState = "connected" if answers else "lost"
        if state == self._line.state:
            return False
        self._line = Line(state=state, since=self._now(), reason=reason)
        self._changed()
        return True

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)
