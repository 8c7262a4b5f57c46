"""`strom pipeline`: the Spark pipeline and what belongs to it."""

import shutil
import sys
from itertools import chain
from typing import Annotated

import typer

from strom.cli import replay
from strom.cli.options import HomeOption, KafkaOption, PostgresOption, SparkOption, settings_from
from strom.cli.running import INTERRUPTED, stop_on_signals
from strom.logs import log_to_stderr

group = typer.Typer(help="The Spark pipeline.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    replay.register(group)
    app.add_typer(group, name="pipeline")


@group.command()
def run(
    only: Annotated[
        str | None,
        typer.Option(
            metavar="STAGE,…",
            help="Run only these stages: normalise, which brings side, archive, profile, latest, watch, queries.",
        ),
    ] = None,
    until_caught_up: Annotated[bool, typer.Option(help="Process what is there and end.")] = False,
    kafka: KafkaOption = None,
    postgres: PostgresOption = None,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Run the pipeline: raw records to readings, quarter-hours, alerts, the latest state and the lake.

    Queries of your own (sql.queries) run beside it. Runs until Ctrl-C or SIGTERM; started again, it goes on where it was.

    Example: strom pipeline run --only normalise,archive
    """
    from strom.pipeline.job import Pipeline
    from strom.pipeline.stages import STAGES
    from strom.restart_record import RESTARTS
    from strom.stack.ready import announce

    settings = settings_from(kafka=kafka, postgres=postgres, spark_master=spark_master, home=home)
    stages = [stage.strip() for stage in only.split(",")] if only else STAGES
    log_to_stderr()
    RESTARTS.keep(settings.home, "pipeline")
    pipeline = Pipeline(settings, stages)
    with stop_on_signals(pipeline.stop):
        done = pipeline.run(lambda: announce(settings.home, "pipeline"), until_caught_up=until_caught_up)
    if not done:
        print("stopped before all was taken in; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


@group.command()
def explain(
    short: Annotated[bool, typer.Option("--short", help="Leave out the plans.")] = False,
    postgres: PostgresOption = None,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Print Spark's plan of each step of the pipeline, and whether it leaves Spark's native code.

    Queries of your own (sql.queries) are steps, too. No server is needed, but for tables that they name.

    In a terminal each operator is cut to its width; into a file or a pipe it goes as it is.

    Example: strom pipeline explain --short
    """
    from strom.cli import plan_view
    from strom.pipeline.explain import steps
    from strom.pipeline.quiet import quiet_session
    from strom.pipeline.sql.explain import query_steps

    settings = settings_from(postgres=postgres, spark_master=spark_master, home=home)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    folder = settings.query_folder
    print("Spark starts", file=sys.stderr)
    with quiet_session(settings, "explain") as spark:
        own = query_steps(spark, settings, folder) if folder is not None else ()
        for line in plan_view.lines(chain(steps(spark, settings), own), short, width):
            print(line)
