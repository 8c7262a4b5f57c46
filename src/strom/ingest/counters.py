"""What a bridge has done since it started, for log lines and tests."""

from dataclasses import asdict, dataclass


@dataclass
class Counters:
    received: int = 0  # messages taken from MQTT
    forwarded: int = 0  # confirmed by Kafka
    acknowledged: int = 0  # confirmed to MQTT (QoS 1)
    refused: int = 0  # Kafka will never take them; kept as files
    reconnects: int = 0  # MQTT connections after the first
    held: int = 0  # times that reading stopped because Kafka did not confirm

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())
