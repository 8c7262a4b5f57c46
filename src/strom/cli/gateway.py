"""The verb `gateway`: HTTP into Kafka and back."""

from typing import Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from

PortOption = Annotated[int | None, typer.Option("--port", help="Port to listen on; 8090 unless set.")]
HostOption = Annotated[
    str | None,
    typer.Option("--host", help="Address to listen on; 0.0.0.0 lets other machines reach it."),
]


def register(app: typer.Typer) -> None:
    app.command("gateway")(gateway)


def gateway(
    kafka: KafkaOption = None,
    home: HomeOption = None,
    host: HostOption = None,
    port: PortOption = None,
) -> None:
    """Let programs write into Kafka and read from it over HTTP, until Ctrl-C; `strom users add` lets them in.

    It comes up also while Kafka is away, answers with 503 then, and heals by itself.

    Example: strom gateway --port 8091 --kafka kafka-1:9092
    """
    from strom.ingest.gateway.run import run, site_of
    from strom.logs import log_to_stderr
    from strom.stack.ready import announce

    settings = settings_from(kafka=kafka, home=home, more={"gateway.host": host, "gateway.port": port})

    def ready() -> None:
        announce(settings.home, "gateway")
        print(f"The gateway is at {site_of(settings).url}, its description at /openapi.json.", flush=True)
        if not settings.users:
            print("It has no users yet and answers 401; `strom users add NAME` adds one.", flush=True)

    log_to_stderr()
    run(settings, ready)
