"""What an adapter tells about itself, as metrics; a field that it does not tell is not invented."""

import math
from typing import Any, NamedTuple

from strom.ingest.poll.counters import Info, Told
from strom.metrics import Metrics

MAX_LABEL = 100  # characters of a text that the device chose
BLOT = "\ufffd"  # for a character that cannot be shown: a control character, half of a surrogate pair


class Labels(NamedTuple):
    """What an adapter says that it is."""

    firmware: str
    state: str
    supplier: str
    manufacturer: str
    interface: str

    @classmethod
    def of(cls, status: dict[str, Any]) -> "Labels":
        meter = _part(status, "meter")
        about_meter = (_text(meter.get(name)) for name in ("supplier", "manufacturer", "interface"))
        return cls(_text(status.get("fw_version")), _text(status.get("sma_status")), *about_meter)


class StatusMetrics:
    """Of one adapter; appear with its first answer."""

    def __init__(self, entry: str, metrics: Metrics) -> None:
        self._entry = entry
        self._metrics = metrics
        self._told: Told | None = None
        self._info: Info | None = None
        self._labels: Labels | None = None

    def take(self, status: dict[str, Any]) -> None:
        numbers = (
            _number(_part(status, "wifi").get("rssi")),
            _number(status.get("meter_valid_package_cnt")),
            _number(status.get("meter_invalid_package_cnt")),
        )
        if self._told is None and not all(map(math.isnan, numbers)):
            self._told = Told()
            self._metrics.watch("poll", self._told, adapter=self._entry)
        if self._told is not None:
            self._told.rssi_dbm, self._told.valid_packages, self._told.invalid_packages = numbers
        self._name(Labels.of(status))

    def _name(self, labels: Labels) -> None:
        if labels == self._labels:
            return
        if self._info is not None:  # another firmware, say: the former is no more
            self._metrics.forget(self._info)
        self._labels, self._info = labels, Info(1)
        self._metrics.watch(
            "poll",
            self._info,
            adapter=self._entry,
            firmware=labels.firmware,
            state=labels.state,
            supplier=labels.supplier,
            manufacturer=labels.manufacturer,
            interface=labels.interface,
        )


def _part(status: dict[str, Any], name: str) -> dict[str, Any]:
    found = status.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    """Numbers come as such or as texts; NaN is how Prometheus writes that there is none."""
    try:
        return math.nan if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _text(value: Any) -> str:
    """Short, of one line and fit for UTF-8, whatever the device says: the page has room for all the others, too."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    return "".join(each if each.isprintable() else BLOT for each in str(value)[:MAX_LABEL])
