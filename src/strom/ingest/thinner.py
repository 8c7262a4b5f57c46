"""Thins what a bridge carries, for lines that are thin: leaves out messages that say nothing new in time.

What it cannot understand goes on as it came; that is for others to judge. The rule itself is in `domain/thinning.py`.
"""

import logging
from collections.abc import Mapping
from typing import Any

import mqtt5

from strom.devices.registry import Dialect, dialects_of
from strom.domain.reading import Rejected, epoch_ms
from strom.domain.thinning import LONGEST_MS, Kind, Meter, Thinning
from strom.durations import duration
from strom.errors import StromError
from strom.extras import is_installed, sentence
from strom.ingest.counters import Counters
from strom.ingest.dialect_rules import DialectRules
from strom.ingest.headings import SOURCE
from strom.settings import Settings

LOG = logging.getLogger("strom.bridge")

# Kinds of messages that are remembered, of all meters, 500 bytes each at most; beyond that it starts anew, and everything
# goes on once more.
MOST_TRACES = 20_000
_TIMES = ("v", "at", "received")  # what differs in every message


class Thinner:
    def __init__(
        self, thinning: Thinning, rules: DialectRules, dialects: Mapping[str, Dialect], counters: Counters
    ) -> None:
        self._thinning = thinning
        self._rules = rules
        self._dialects = dialects
        self._counters = counters
        self._meters: dict[str, Meter] = {}
        self._traces = 0  # of all of them
        self._told_of_many = False
        self._faulty: set[str] = set()  # dialects whose decoder has failed

    def sift(self, messages: list[mqtt5.PublishPacket], received_ms: int) -> list[mqtt5.PublishPacket]:
        """Those of the messages that go on."""
        kept = [message for message in messages if self._goes_on(message, received_ms)]
        self._counters.thinned += len(messages) - len(kept)
        return kept

    def forget(self) -> None:
        """From now on messages may come again that have gone on, but are not safe yet."""
        self._meters.clear()
        self._traces = 0

    def _goes_on(self, message: mqtt5.PublishPacket, received_ms: int) -> bool:
        reading = self._understood(message, received_ms)
        if reading is None:
            return True
        said = hash(repr([item for item in reading.items() if item[0] not in _TIMES]))
        kind = Kind.of(reading, reading.get("other", ()))
        meter = self._meters.setdefault(reading["meter"], Meter())
        before = len(meter.traces)
        goes_on = self._thinning.goes_on(meter, kind, epoch_ms(reading["at"]), said)
        self._traces += len(meter.traces) - before
        if self._traces > MOST_TRACES:
            self._start_anew()
        return goes_on

    def _start_anew(self) -> None:
        self.forget()
        if not self._told_of_many:
            self._told_of_many = True
            LOG.warning(
                "there are more than %d kinds of messages, of all meters: less is thinned", MOST_TRACES
            )

    def _understood(self, message: mqtt5.PublishPacket, received_ms: int) -> dict[str, Any] | None:
        topic, payload = message.topic, message.payload
        dialect = self._dialects.get(self._rules.marks(topic).dialect)
        if dialect is None:
            return None
        try:
            return dialect.decode(payload, received_ms=received_ms, source=SOURCE, topic=topic)
        except Rejected:
            return None
        except Exception:  # a fault of ours must not stop the bridge, which would meet the same message again
            self._tell_fault(dialect.name)
            return None

    def _tell_fault(self, dialect: str) -> None:
        """Once; a message that cannot be read comes every few seconds."""
        if dialect not in self._faulty:
            self._faulty.add(dialect)
            LOG.exception("a message in %s could not be read; such messages go on without thinning", dialect)


def thinner_of(settings: Settings, rules: DialectRules, counters: Counters) -> Thinner | None:
    """None unless the settings ask for one."""
    bridge = settings.bridge
    if bridge.every is None and not bridge.on_change:
        return None
    every_ms = None if bridge.every is None else duration(bridge.every)
    if every_ms is not None and every_ms > LONGEST_MS:
        raise StromError(
            f"bridge.every is {bridge.every}: choose at most {LONGEST_MS // 1000}s, so that quarter-hours stay exact."
        )
    thinning = Thinning(every_ms, on_change=bridge.on_change)
    return Thinner(thinning, rules, _readable(dialects_of(settings), settings), counters)


def _readable(known: Mapping[str, Dialect], settings: Settings) -> dict[str, Dialect]:
    """Without those that this installation cannot read; said at the start of those that the settings name."""
    found = {name: each for name, each in known.items() if each.needs is None or is_installed(each.needs)}
    for name in sorted({*settings.dialects.values()} - found.keys()):
        advice = sentence(known[name].needs, f"Thinning {name}")
        LOG.warning("%s Without it all its messages go on.", advice)
    return found
