"""Reads the page of metrics that a bridge serves, as Prometheus would."""

import urllib.request

from strom.settings import Settings
from tests import waiting


def metric(settings: Settings, name: str) -> float | None:
    """The value of `strom_bridge_<name>`; None while the page does not tell it."""
    address = f"http://{settings.bridge.metrics_host}:{settings.bridge.metrics_port}/metrics"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith(f"strom_bridge_{name} ")]
    return float(found[0]) if found else None


def await_metric(settings: Settings, name: str, least: float) -> float:
    """Until it is at least so much."""
    waiting.until(lambda: (metric(settings, name) or 0) >= least, f"{name} is at least {least}", 120)
    return metric(settings, name) or 0
