"""`strom sql`: ask readings, tables and topics in SQL, once or as they come."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, PostgresOption, SparkOption, settings_from

if TYPE_CHECKING:
    from strom.pipeline.sql.query_files import QueryFile


def register(app: typer.Typer) -> None:
    app.command(name="sql")(sql)


def sql(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option(help="Read the query from this file.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Go on with what comes, until Ctrl-C.")] = False,
    into: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Live: write the result into this topic.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="With --into: the query's name; started again under it, it goes on.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help="Live: earliest, latest (default) or a time."),
    ] = None,
    late: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Live: how late a record may come (default: sql.late)."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="Live: append, update or complete; the query decides without.")
    ] = None,
    lasting: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="Live: end after it.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="End after this many rows; a table of what is there shows 100 without."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, with a head line.")] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Only tell whether this file, or each of a folder, would run."),
    ] = None,
    kafka: KafkaOption = None,
    postgres: PostgresOption = None,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Ask in SQL. Names: readings, load_profile, alerts, meters, and any topic in `backticks`.

    Without --live it answers from what is there: readings from the lake, tables from Postgres. Times are UTC.

    Where a pipeline runs in this home, it is asked, which takes seconds. Without one, and with --live, --check or
    --spark-master, a Spark of its own is started first.

    Example: strom sql "SELECT meter, max(import_w) AS peak FROM readings GROUP BY meter ORDER BY peak DESC"

    Example: strom sql --live "SELECT meter, at, import_w FROM readings WHERE import_w > 5000"
    """
    from strom.durations import duration
    from strom.errors import StromError

    settings = settings_from(kafka=kafka, postgres=postgres, spark_master=spark_master, home=home)
    if as_json and as_csv:
        raise StromError("Give --json or --csv, not both.")
    if not live and any(each is not None for each in (into, name, start, late, mode, lasting)):
        raise StromError("--into, --name, --from, --late, --mode and --for belong to --live; add it.")
    if name is not None and into is None:
        raise StromError("--name is the name of a query that writes --into a topic; give that, too.")

    from strom.cli import sql_runs as runs

    if check is not None:
        runs.run_check(settings, check)
        return
    asked = _asked(query, file)
    chosen = {"from": start, "late": late, "mode": mode}
    asked.options.update({option: value for option, value in chosen.items() if value is not None})
    form = runs.JSON if as_json else runs.CSV if as_csv else runs.TABLE
    if live:
        seconds = None if lasting is None else duration(lasting) / 1000
        runs.run_live(settings, asked, into, name, seconds, (form, limit))
    else:
        runs.run_once(settings, asked, limit, form, alone=spark_master is not None)


def _asked(query: str | None, file: Path | None) -> "QueryFile":
    from strom.errors import StromError
    from strom.pipeline.sql.query_files import parse_query, read_query

    if query is not None and file is not None:
        raise StromError("Give a query or --file, not both.")
    if file is not None:
        return read_query(file)
    if query in (None, "-"):
        if sys.stdin.isatty():
            raise StromError(
                "Give a query, --file, or a query on standard input; `strom sql --help` has examples."
            )
        query = sys.stdin.read()
    return parse_query("query", query or "")
