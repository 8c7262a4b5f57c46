"""`strom lake`: what the lake holds, now and before, and keeping it in order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, SparkOption, settings_from

if TYPE_CHECKING:
    from pathlib import Path

    from strom.settings import Settings

MB = 1024 * 1024


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The Delta lake: what it holds, and its upkeep.", no_args_is_help=True)
    for verb in (status, show, compact, vacuum):
        group.command()(verb)
    app.add_typer(group, name="lake")


def status(
    days: Annotated[bool, typer.Option("--days", help="Each day.")] = False,
    meters: Annotated[bool, typer.Option("--meters", help="Each meter; reads the lake.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Tell files, sizes, readings, days and versions of the lake.

    Example: strom lake status --days
    """
    from strom.pipeline.lake.status import lake_status

    with _session(spark_master, home) as (settings, spark):
        found = lake_status(settings, spark, meters=meters)
    if as_json:
        print(json.dumps(found.as_json(), ensure_ascii=False))
        return
    print(f"{found.path}: {found.readings:,} readings, {found.files:,} files, {found.bytes / MB:,.1f} MB")
    if found.days:
        print(
            f"days {found.days[0].day} to {found.days[-1].day}; {found.want_upkeep} of {len(found.days)} want upkeep"
        )
    print(f"versions {found.oldest} to {found.newest}, the oldest of {found.oldest_at:%Y-%m-%d %H:%M}Z")
    for day in found.days if days else ():
        print(f"{day.day}  {day.readings:>12,} readings  {day.files:>6,} files  {day.bytes / MB:>10,.1f} MB")
    for name, count in found.meters.items():
        print(f"{name}  {count:,}")


def show(
    meter: Annotated[str, typer.Option(help="Of this meter.")],
    at: Annotated[str | None, typer.Option(metavar="TIME", help="As the lake was at this time.")] = None,
    version: Annotated[int | None, typer.Option(help="As of this version of the lake.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Readings from this time on.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest this many.")] = 20,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Show readings of a meter as the lake holds them, or held them.

    Example: strom lake show --meter haus-0006 --at 2026-11-15T12:00
    """
    from strom.cli.times import moment
    from strom.pipeline.lake.status import readings_of

    with _session(spark_master, home) as (settings, spark):
        zone = settings.page.timezone
        then = None if at is None else moment(at, zone)
        first = None if since is None else moment(since, zone)
        for line in readings_of(
            settings, spark, meter, version=version, at_ms=then, since=first, limit=limit
        ):
            print(line)


def compact(spark_master: SparkOption = None, home: HomeOption = None) -> None:
    """Join small files and sort past days by meter, as the running pipeline does by itself.

    Example: strom lake compact
    """
    from strom.pipeline.lake.upkeep import Compacted, Upkeep

    def report(done: Compacted) -> None:
        print(f"{done.day}: {done.files_before:,} files became {done.files_after:,}", flush=True)

    with _session(spark_master, home) as (settings, spark):
        found = Upkeep(settings, spark).compact(_today(), report)
    print(f"{len(found):,} days put in order" if found else "all days are in order")


def vacuum(spark_master: SparkOption = None, home: HomeOption = None) -> None:
    """Remove days beyond `lake.keep_days`, and files that only versions beyond `lake.versions_hours` need.

    Example: strom lake vacuum
    """
    from strom.pipeline.lake.upkeep import Upkeep

    with _session(spark_master, home) as (settings, spark):
        upkeep = Upkeep(settings, spark)
        days = upkeep.trim(_today())
        upkeep.vacuum()
    print(
        f"{days:,} days removed; files that only versions older than {settings.lake.versions_hours} h need are gone"
    )


@contextmanager
def _session(master: str | None, home: "Path | None") -> "Iterator[tuple[Settings, Any]]":
    from strom.pipeline.quiet import quiet_session

    settings = settings_from(spark_master=master, home=home)
    with quiet_session(settings, "lake") as spark:
        yield settings, spark


def _today() -> date:
    return datetime.now(UTC).date()
