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
    every: Annotated[
        str | None,
        typer.Option(
            metavar="15s", help="Thin: of each meter only one message of a kind in so long goes on."
        ),
    ] = None,
    on_change: Annotated[
        bool, typer.Option("--on-change", help="Thin: only messages whose registers changed go on.")
    ] = False,
) -> None:
    """Carry every message from MQTT to Kafka; MQTT may forget it only when Kafka has it.

    Runs until Ctrl-C or SIGTERM. What arrives while it is stopped waits in the MQTT broker. Thinned or not, counters
    stay as they are and quarter-hours exact.

    Example: strom bridge --mqtt 192.168.1.10:1883 --kafka kafka-1:9092,kafka-2:9092
    """
    from strom.cli.running import stop_on_signals
    from strom.ingest.bridge import Bridge
    from strom.logs import log_to_stderr
    from strom.metrics import Metrics
    from strom.restart_record import RESTARTS
    from strom.settings import load_settings
    from strom.stack.ready import announce

    settings = load_settings(
        {
            "kafka.bootstrap": kafka,
            "mqtt.address": mqtt,
            "home": home,
            "bridge.client_id": client_id,
            "bridge.share": share,
            "bridge.every": every,
            "bridge.on_change": on_change or None,
        }
    )
    log_to_stderr()
    RESTARTS.keep(settings.home, "bridge")
    running = Bridge(settings, on_ready=lambda: announce(settings.home, "bridge"))
    metrics = Metrics()
    metrics.watch("bridge", running.counters, running.refresh)
    port, host = settings.bridge.metrics_port, settings.bridge.metrics_host
    with metrics.served(port, host, "bridge.metrics_port"), stop_on_signals(running.stop):
        running.run()
