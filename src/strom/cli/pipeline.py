"""`strom pipeline`: the Spark pipeline and what belongs to it."""

import sys
from typing import Annotated

import typer

from strom.cli import replay
from strom.cli.options import HomeOption, KafkaOption, PostgresOption, SparkOption, settings_from
from strom.cli.running import INTERRUPTED, log_to_stderr, stop_on_signals

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
            help="Run only these stages: normalise, archive, profile, latest, watch, queries.",
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
    from strom.stack.ready import announce

    settings = settings_from(kafka=kafka, postgres=postgres, spark_master=spark_master, home=home)
    stages = [stage.strip() for stage in only.split(",")] if only else STAGES
    log_to_stderr()
    pipeline = Pipeline(settings, stages)
    with stop_on_signals(pipeline.stop):
        done = pipeline.run(lambda: announce(settings.home, "pipeline"), until_caught_up=until_caught_up)
    if not done:
        print("stopped before all was taken in; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


@group.command()
def explain(
    plans: Annotated[bool, typer.Option("--plans", help="Print Spark's plan of each step, too.")] = False,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Tell for each step of the pipeline whether it stays in Spark's native code. Needs no server.

    Example: strom pipeline explain --plans
    """
    from strom.pipeline.explain import steps
    from strom.pipeline.limits import Limits
    from strom.pipeline.quiet import quiet_session

    settings = settings_from(spark_master=spark_master, home=home)
    with quiet_session(settings, "explain") as spark:
        for step in steps(spark, Limits(settings)):
            left = step.leaves_native
            print(f"{step.name}: {step.does}")
            print(
                f"  {'leaves native code: ' + ', '.join(left) if left else 'native, no Python for any row'}"
            )
            if plans:
                print(step.plan)
        print(
            "The driver then goes on in Python with one row per meter and five minutes, not with each reading;"
        )
        print(
            "only meters whose counters did not follow normally, or that show something odd, are read one by one."
        )
