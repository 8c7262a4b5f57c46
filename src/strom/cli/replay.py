"""`strom pipeline replay`, `swap` and `late`: the past worked out again, and what came too late for it."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, PostgresOption, SparkOption, settings_from
from strom.cli.running import INTERRUPTED, stop_on_signals

if TYPE_CHECKING:
    from strom.pipeline.replay.job import Outcome


def register(group: typer.Typer) -> None:
    group.command()(replay)
    group.command()(swap)
    group.command()(late)


def replay(
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="From this time on; else from the beginning.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Up to this time.")] = None,
    meters: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="Only these meters; * and ? stand for any characters."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(metavar="SCHEMA", help="Build a new set of tables in this schema of Postgres."),
    ] = None,
    source: Annotated[str, typer.Option(help="Read the lake or, into a new schema, the topic.")] = "lake",
    anew: Annotated[
        bool, typer.Option("--anew", help="With --into: drop what an earlier replay has put there.")
    ] = False,
    kafka: KafkaOption = None,
    postgres: PostgresOption = None,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Work out quarter-hours, statistics and alerts again from the readings in the lake.

    In place it corrects the live tables and tells the topics what changed; the pipeline may be running. With --into it
    builds tables beside them, to be looked at or swapped in. Stopped by Ctrl-C, the same command goes on.

    Example: strom pipeline replay --from 2026-11-01 --meters 'haus-*'
    """
    from threading import Event

    from strom.cli.times import moment
    from strom.pipeline.quiet import quiet_session
    from strom.pipeline.replay.in_place import InPlace
    from strom.pipeline.replay.into import Into
    from strom.pipeline.replay.plan import Plan

    settings = settings_from(kafka=kafka, postgres=postgres, spark_master=spark_master, home=home)
    zone = settings.page.timezone
    plan = Plan(
        None if since is None else moment(since, zone),
        None if until is None else moment(until, zone),
        tuple(name.strip() for name in meters.split(",") if name.strip()) if meters else (),
        into,
        source,
        anew,
    )
    stop = Event()
    with quiet_session(settings, "replay") as spark:
        work = (Into if into else InPlace)(settings, spark, plan, _report)
        with stop_on_signals(stop.set):
            outcome = work.run(stop)
    _tell(outcome, into)


def swap(
    new: Annotated[str, typer.Argument(metavar="SCHEMA", help="The schema that a replay has built.")],
    shorter: Annotated[
        bool, typer.Option("--shorter", help="Also when the new tables do not reach back as far.")
    ] = False,
    kafka: KafkaOption = None,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Put the tables that a replay has built in the place of the live ones; those are kept under another name.

    Stop the pipeline before and start it after; the page and API go on. Swap the former tables back the same way.

    Example: strom pipeline swap quieter
    """
    from strom.pipeline.replay.swap import swap as put

    settings = settings_from(kafka=kafka, postgres=postgres, home=home)
    done = put(settings, new, shorter=shorter)
    print(f"{new} is live now: {done.changed:,} quarter-hours differ and were told to the topics.")
    print(f"The former tables are in {done.former}; `strom pipeline swap {done.former}` brings them back.")


def late(
    meter: Annotated[str | None, typer.Option(help="The readings of this meter, as JSON.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest this many of them.")] = 100,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """List readings that came too late for the quarter-hours (`pipeline.late_days`) and were set aside.

    Example: strom pipeline late --meter haus-0006
    """
    from strom.cli.record_view import safe
    from strom.store.late_tables import MOST_OF_A_METER, late_counts, late_readings

    settings = settings_from(postgres=postgres, home=home)
    if meter is not None:
        for _, origin, reading in late_readings(settings.postgres_url, meter, limit):
            print(json.dumps(reading | {"origin": origin}, ensure_ascii=False))
        return
    counts = late_counts(settings.postgres_url)
    for name, count, first, last, arrived in counts:
        or_more = " or more" if count >= MOST_OF_A_METER else ""
        print(
            f"{safe(name)}  {count:,}{or_more}  of {first:%Y-%m-%d} to {last:%Y-%m-%d}, arrived until {arrived:%Y-%m-%d %H:%M}Z"
        )
    total = f"{sum(count for _, count, *_ in counts):,}"
    if any(count >= MOST_OF_A_METER for _, count, *_ in counts):
        print(
            f"Of each meter the newest {MOST_OF_A_METER:,} are kept in the table; the lake has all of them."
        )
        total += " or more"
    print(f"{total} readings came too late and were set aside")


def _report(line: str) -> None:
    print(line, flush=True)


def _tell(outcome: "Outcome", into: str | None) -> None:
    rate = outcome.readings / outcome.seconds if outcome.seconds else 0
    print(f"{outcome.readings:,} readings in {outcome.seconds:,.0f} s ({rate:,.0f}/s)")
    if outcome.stopped:
        print("stopped; the same command goes on from here")
        raise typer.Exit(INTERRUPTED)
    if into is None:
        changed = ", ".join(f"{count:,} to {topic}" for topic, count in sorted(outcome.told.items()))
        print(f"told what changed: {changed}" if changed else "nothing changed")
    else:
        print(
            f"{into} is complete; with the pipeline stopped, `strom pipeline swap {into}` makes it the live one"
        )
