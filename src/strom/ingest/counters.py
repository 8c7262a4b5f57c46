"""What a bridge has done since it started, for log lines, metrics and tests."""

from dataclasses import asdict, dataclass

from strom.metrics import counter


@dataclass
class Counters:
    received: int = counter("Messages taken from MQTT.")
    forwarded: int = counter("Messages confirmed by Kafka.")
    acknowledged: int = counter("Messages confirmed to MQTT (QoS 1).")
    refused: int = counter("Messages that Kafka will never take; kept as files.")
    reconnects: int = counter("MQTT connections after the first.")
    held: int = counter("Times that reading stopped because Kafka did not confirm.")

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())
