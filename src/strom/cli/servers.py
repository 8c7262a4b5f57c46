"""`strom stack`: one kind of server on its own, a Kafka of several brokers or a Spark cluster."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, settings_from
from strom.cli.stack import bring_up

if TYPE_CHECKING:
    from strom.settings import Settings

group = typer.Typer(help="A Spark cluster or a Kafka of several brokers, on its own.", no_args_is_help=True)

DetachOption = Annotated[
    bool, typer.Option("--detach", help="Return when all is ready; `strom down` stops it.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="When all is ready, tell it as one JSON object, for programs.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="stack")


@group.command()
def spark(
    workers: Annotated[int | None, typer.Option(min=1, help="How many workers; 2 if not set.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Task slots of each; 4 if not set.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="2g", help="Memory of each; 2g if not set.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback if not set.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the master; 7077 if not set.")] = None,
    join: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Start workers only, for a master that runs elsewhere."),
    ] = None,
    detach: DetachOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Start a Spark cluster, a master and its workers, and watch over it. Ctrl-C stops it.

    Then: strom pipeline run --spark-master spark://127.0.0.1:7077

    Example: strom stack spark --workers 2 --cores 4 --memory 2g
    """
    settings = settings_from(
        home=home,
        more={
            "spark.workers": workers,
            "spark.worker_cores": cores,
            "spark.worker_memory": memory,
            "spark.host": host,
            "spark.port": port,
            "spark.join": join,
        },
    )
    found = {
        "master": settings.spark_cluster,
        "workers": settings.spark.workers,
        "cores": settings.spark.workers * settings.spark.worker_cores,
        "page": None if settings.spark.join else f"http://{settings.spark.host}:{settings.spark.ui_port}",
    }
    sentence = f"The Spark master is {settings.spark_cluster}: strom pipeline run --spark-master {settings.spark_cluster}"
    _run(settings, "spark", found, sentence, detach=detach, as_json=as_json)


@group.command()
def kafka(
    brokers: Annotated[int | None, typer.Option(min=1, max=9, help="How many brokers; 1 if not set.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the first; 9092 if not set.")] = None,
    detach: DetachOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Start Kafka on its own and watch over it. Ctrl-C stops it.

    With three brokers each topic of Strom has three copies, and one broker may die without a pause.

    Example: strom stack kafka --brokers 3
    """
    settings = settings_from(home=home, more={"kafka.brokers": brokers, "kafka.port": port})
    found = {"bootstrap": settings.kafka_bootstrap, "replication": settings.kafka_replication}
    sentence = f"Kafka is at {settings.kafka_bootstrap}"
    _run(settings, "kafka", found, sentence, detach=detach, as_json=as_json)


def _run(
    settings: "Settings", part: str, found: dict[str, Any], sentence: str, *, detach: bool, as_json: bool
) -> None:
    from strom.stack.catalogue import choose
    from strom.stack.state import status

    names = [each.name for each in choose(settings, [part])]

    def ready() -> None:
        if as_json:
            states = status(settings)
            print(json.dumps(found | {"parts": {name: states[name] for name in names}}), flush=True)
        else:
            print(sentence, flush=True)

    bring_up(settings, [part], detach=detach, quiet=as_json, on_ready=ready)
