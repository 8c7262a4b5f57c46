"""How new the tables are for some meters, asked again and again on one connection; for benchmarks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg

from strom.store.asking import unanswered
from strom.store.schema import connect

_RECEIVED = "SELECT meter, extract(epoch FROM received) FROM readings_latest WHERE meter = ANY(%s)"
_SINCE = "SELECT count(*) FROM readings_latest WHERE received >= %s"
_QUARTER_HOURS = "SELECT count(*) FROM load_profile WHERE start = %s AND meter = ANY(%s)"


class Freshness:
    def __init__(self, url: str) -> None:
        self._connection = connect(url, "strom-bench")
        self._connection.autocommit = True

    def received(self, meters: Sequence[str]) -> list[float | None]:
        """When the newest reading in the tables was received, of each of these meters, in epoch seconds."""
        found = {meter: float(at) for meter, at in self._rows(_RECEIVED, list(meters))}
        return [found.get(meter) for meter in meters]

    def received_since(self, epoch_ms: int) -> int:
        """How many meters have a reading there that was received at this moment or later."""
        return int(self._rows(_SINCE, _time(epoch_ms / 1000))[0][0])

    def quarter_hours(self, start_s: int, meters: Sequence[str]) -> int:
        """How many of these meters have the quarter-hour that begins at this moment."""
        return int(self._rows(_QUARTER_HOURS, _time(start_s), list(meters))[0][0])

    def close(self) -> None:
        self._connection.close()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except psycopg.Error as error:
            raise unanswered(error) from None


def _time(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
