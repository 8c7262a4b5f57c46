"""Reads records of `readings` as far as the live page needs them: few fields, the rest stays bytes until someone looks.

A record that `normalise` cannot have written is foreign: it is refused here, whatever it holds, before any of it
reaches the live state. It knows neither Kafka nor Postgres.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson

from strom.domain.reading import Reading
from strom.domain.values import AHEAD_SECONDS, EARLIEST_SECONDS, NAME_LENGTH, NUL
from strom.serve.curve import Power

LOG = logging.getLogger("strom.page")

# `received` may be ahead of this machine's clock by so much: clocks differ, but a time far ahead would stay the newest.
CLOCKS_DIFFER_MS = 3_600_000
_EARLIEST_MS = EARLIEST_SECONDS * 1000
_AHEAD_MS = AHEAD_SECONDS * 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MOST_MILLIWATTS = 10**15
_MANY_BRACKETS = 100
_DEEPEST = 20
_LOG_SECONDS = 60.0


class ForeignRecord(ValueError):  # noqa: N818  an expected outcome, not a fault
    """Why a record is not a reading."""


class LiveReading(NamedTuple):
    """What the live state needs of a reading. `body` is the whole of it, as bytes where it came as bytes."""

    meter: str
    at_ms: int
    received_ms: int
    power: Power | None
    meter_number: str
    body: bytes | Reading
    published_ms: int | None = None


def live_reading(
    body: bytes | Reading, now_ms: int | None = None, published_ms: int | None = None
) -> LiveReading:
    """Raises ForeignRecord for what is not a reading; `now_ms` is the time of this machine."""
    try:
        reading: Any = orjson.loads(body) if isinstance(body, bytes) else body
        meter = reading["meter"]
        # As the pipeline judges it: what it refuses is in no table, and Postgres cannot even be asked for a NUL.
        if type(meter) is not str or not 1 <= len(meter) <= NAME_LENGTH or NUL in meter:
            raise ForeignRecord("`meter` is not a name")
        # A time without a zone is refused by the subtraction.
        at_ms = (datetime.fromisoformat(reading["at"]) - _EPOCH) // _MILLISECOND
        received_ms = (datetime.fromisoformat(reading["received"]) - _EPOCH) // _MILLISECOND
        import_w, export_w = reading.get("import_w"), reading.get("export_w")
        power = None
        if import_w is not None or export_w is not None:
            power = Power(_milliwatts(import_w), _milliwatts(export_w))
        number = reading.get("meter_number")
    except ForeignRecord:
        raise
    except KeyError as error:
        raise ForeignRecord(f"it has no {error}") from None
    except orjson.JSONDecodeError as error:
        raise ForeignRecord(f"it is not strict JSON: {error}") from None
    except Exception as error:  # whatever it holds
        raise ForeignRecord(f"it cannot be read: {error!r:.200}") from error
    if not _EARLIEST_MS <= at_ms <= received_ms + _AHEAD_MS:
        raise ForeignRecord("`at` is before 2020 or after `received`")
    if now_ms is not None and received_ms > now_ms + CLOCKS_DIFFER_MS:
        raise ForeignRecord("`received` lies in the future")
    if isinstance(body, bytes) and (body.count(b"[") > _MANY_BRACKETS or body.count(b"{") > _MANY_BRACKETS):
        _refuse_deep(reading)
    return LiveReading(
        meter, at_ms, received_ms, power, number if type(number) is str else "", body, published_ms
    )


class ForeignRecords:
    """Counts them, and writes a line for the first and then at most one a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self._clock = clock
        self._untold = 0
        self._quiet_until = -math.inf
        self._lock = threading.Lock()  # topic and table are read in different threads

    def add(self, where: str, why: object) -> None:
        with self._lock:
            self.count += 1
            self._untold += 1
            now = self._clock()
            if now < self._quiet_until:
                return
            untold, self._untold, self._quiet_until = self._untold, 0, now + _LOG_SECONDS
        LOG.warning("%s is not a reading: %s. Passed over since the last such line: %d", where, why, untold)


def _milliwatts(value: object) -> int:
    if type(value) is int:
        milliwatts = value * 1000
    elif type(value) is float:
        milliwatts = round(value * 1000)  # which refuses what is not finite
    elif value is None:
        return 0
    else:
        raise ForeignRecord(f"a power is {value!r:.40}")
    if abs(milliwatts) > _MOST_MILLIWATTS:
        raise ForeignRecord(f"a power is {value!r:.40}")
    return milliwatts


def _refuse_deep(value: Any, depth: int = 0) -> None:
    """What is nested deeper than any reading could be sent to nobody."""
    if depth > _DEEPEST:
        raise ForeignRecord("it is nested too deep")
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _refuse_deep(each, depth + 1)
