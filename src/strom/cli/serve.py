"""The verb `serve`: the page and the API."""

from typing import Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, PostgresOption

PortOption = Annotated[int | None, typer.Option("--port", help="Port of the page; 8080 unless set.")]
HostOption = Annotated[
    str | None,
    typer.Option("--host", help="Address to listen on; 0.0.0.0 lets phones in the house reach it."),
]


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    kafka: KafkaOption = None,
    postgres: PostgresOption = None,
    home: HomeOption = None,
    host: HostOption = None,
    port: PortOption = None,
) -> None:
    """Serve the live page and the HTTP API until Ctrl-C.

    The page comes up also while Kafka or Postgres are away, says so, and heals by itself.

    Example: strom serve --port 8081 --kafka kafka1:9092
    """
    from strom.logs import log_to_stderr
    from strom.serve.run import serve as run
    from strom.settings import load_settings
    from strom.stack.ready import announce

    settings = load_settings(
        {
            "kafka.bootstrap": kafka,
            "postgres.url": postgres,
            "home": home,
            "page.host": host,
            "page.port": port,
        }
    )
    shown = f"[{settings.page.host}]" if ":" in settings.page.host else settings.page.host

    def ready() -> None:
        announce(settings.home, "serve")
        print(
            f"The page is at http://{shown}:{settings.page.port}, the API's description at /docs.", flush=True
        )

    log_to_stderr()
    run(settings, ready)
