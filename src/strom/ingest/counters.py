"""What a bridge has done since it started and how it is now, for log lines, metrics and tests."""

from dataclasses import asdict, dataclass

from strom.metrics import counter, gauge


@dataclass
class Counters:
    received: int = counter("Messages taken from MQTT.")
    forwarded: int = counter("Records confirmed by Kafka; a large message is several.")
    acknowledged: int = counter("Messages confirmed to MQTT (QoS 1).")
    thinned: int = counter("Messages left out on request (bridge.every, bridge.on_change).")
    refused: int = counter("Messages that Kafka will never take; kept as files.")
    reconnects: int = counter("MQTT connections after the first.")
    held: int = counter("Times that reading stopped because Kafka did not confirm.")
    holding: int = gauge("1 while Kafka does not confirm.")
    connected: int = gauge("1 while the bridge reads from MQTT.")
    in_flight: int = gauge("Messages taken from MQTT that Kafka has not confirmed.")
    queued: int = gauge("Messages that the MQTT broker keeps for whoever has not taken them yet.")
    dropped: int = counter("Messages that the MQTT broker has dropped because a queue was full.")
    let_go: int = counter(
        "Oldest messages that the bridge has dropped to make room there (mqtt.queue_drops)."
    )
    background_restarts: int = counter("Times that work in the background failed and was started again.")

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())
