"""The adapter as a device: what the simulator says, by MQTT, REST and Modbus, as the real box offers it.

Each file is one part of the box; `run.py` puts them together. It knows nothing of those who ask it.
"""

from strom.devices.box.running import RunningBox, running_box
from strom.devices.box.troubles import Trouble

__all__ = ["RunningBox", "Trouble", "running_box"]
