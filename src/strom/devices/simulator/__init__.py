"""Simulated meters and adapters: pure and seeded, no clock, no socket; a moment always has the same bytes."""

from strom.devices.simulator.adapters import Adapter
from strom.devices.simulator.faults import Fault, FaultKind, parse_kinds
from strom.devices.simulator.fleet import Fleet, Push
from strom.devices.simulator.members import Wish

__all__ = ["Adapter", "Fault", "FaultKind", "Fleet", "Push", "Wish", "parse_kinds"]
