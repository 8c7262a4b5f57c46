"""The alerts that last, as the table last told, and what is news to open pages. It asks nobody.

The table is compared by the versions of its rows, so that only rows that changed are read: a fleet may have
thousands of open alerts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from strom.serve import answers, models

Event = dict[str, Any]


class AlertBoard:
    """Alerts that are open or ended within the last hour."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._alerts: dict[str, models.Alert] = {}
        self._open: list[models.Alert] | None = []  # None: to be sorted anew
        self.open_by_meter: Counter[str] = Counter()

    @property
    def open_count(self) -> int:
        return self.open_by_meter.total()

    def open(self, meter: str | None = None) -> list[models.Alert]:
        """Those that last, of one meter or of all: severe ones first, then the newest; not to be changed."""
        if self._open is None:
            lasting = (alert for alert in self._alerts.values() if alert.ended is None)
            self._open = sorted(
                lasting, key=lambda alert: (not alert.severe, -alert.started.timestamp(), alert.id)
            )
        if meter is None:
            return self._open
        return [alert for alert in self._open if alert.meter == meter] if self.open_by_meter[meter] else []

    def to_read(self, versions: Mapping[str, int]) -> list[str]:
        """The ids of rows that are new, changed, or no longer among the versions."""
        known = self._versions
        changed = [key for key, version in versions.items() if known.get(key) != version]
        return changed + [key for key in known if key not in versions]

    def update(
        self, versions: Mapping[str, int], read: Iterable[str], rows: Iterable[Mapping[str, Any]]
    ) -> list[Event]:
        """Take in the rows with the ids of `to_read`; what is news, as events.

        An alert whose row is gone was withdrawn: readings that came late show that it never was so.
        """
        found = {row["id"]: answers.alert(row) for row in rows}
        events: list[Event] = []
        self._versions = dict(versions)
        for key in read:
            before, now = self._alerts.pop(key, None), found.get(key)
            if now is None:
                self._versions.pop(key, None)
                if before is not None:
                    events.append(_withdrawn(before))
                continue
            if key in versions:
                self._alerts[key] = now
            if now != before and (key in versions or (before is not None and before.ended is None)):
                events.append(now.model_dump(mode="json"))
        if events:
            self._open = None
            self.open_by_meter = Counter(
                alert.meter for alert in self._alerts.values() if alert.ended is None
            )
        return events


def _withdrawn(alert: models.Alert) -> Event:
    """As in the topic: it ended when it began."""
    event = alert.model_dump(mode="json")
    return event | {"ended": event["started"], "withdrawn": True}
