"""`strom bridge`: from MQTT to Kafka until stopped."""

from typing import Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, MqttOption


def register(app: typer.Typer) -> None:
    app.command(name="bridge")(bridge)


def bridge(
    kafka: KafkaOption = None,
    mqtt: MqttOption = None,
    home: HomeOption = None,
    client_id: Annotated[
        str | None, typer.Option(help="MQTT client id; each bridge needs its own (default: strom-bridge).")
    ] = None,
    share: Annotated[
        str | None, typer.Option(metavar="NAME", help="Share the load with the bridges of the same NAME.")
    ] = None,
) -> None:
    """Carry every message from MQTT to Kafka; MQTT may forget it only when Kafka has it.

    Runs until Ctrl-C or SIGTERM. What arrives while it is stopped waits in the MQTT broker.

    Example: strom bridge --mqtt 192.168.1.10:1883 --kafka kafka-1:9092,kafka-2:9092
    """
    from strom.cli.running import log_to_stderr, stop_on_signals
    from strom.ingest.bridge import Bridge
    from strom.settings import load_settings
    from strom.stack.ready import announce

    settings = load_settings(
        {
            "kafka.bootstrap": kafka,
            "mqtt.address": mqtt,
            "home": home,
            "bridge.client_id": client_id,
            "bridge.share": share,
        }
    )
    log_to_stderr()
    running = Bridge(settings, on_ready=lambda: announce(settings.home, "bridge"))
    with stop_on_signals(running.stop):
        running.run()
