"""`strom sql`: ask readings, tables and topics in SQL, once or as they come."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, PostgresOption, SparkOption, settings_from

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from strom.cli.row_view import View
    from strom.pipeline.sql.query_files import QueryFile
    from strom.pipeline.sql.result import Columns
    from strom.settings import Settings

TABLE_ROWS = 100  # shown in a table unless --limit says otherwise


def register(app: typer.Typer) -> None:
    app.command(name="sql")(sql)


def sql(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", show_default=False)] = None,
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
        typer.Option(min=1, help=f"End after this many rows (a table of what is there: {TABLE_ROWS})."),
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

    Example: strom sql "SELECT meter, max(import_w) AS peak FROM readings GROUP BY meter ORDER BY peak DESC"

    Example: strom sql --live "SELECT meter, at, import_w FROM readings WHERE import_w > 5000"
    """
    from strom.errors import StromError

    settings = settings_from(kafka=kafka, postgres=postgres, spark_master=spark_master, home=home)
    if check is not None:
        _check(settings, check)
        return
    if as_json and as_csv:
        raise StromError("Give --json or --csv, not both.")
    if not live and any(each is not None for each in (into, name, start, late, mode, lasting)):
        raise StromError("--into, --name, --from, --late, --mode and --for belong to --live; add it.")
    if name is not None and into is None:
        raise StromError("--name is the name of a query that writes --into a topic; give that, too.")
    asked = _asked(query, file)
    chosen = {"from": start, "late": late, "mode": mode}
    asked.options.update({option: value for option, value in chosen.items() if value is not None})
    if live:
        _run_live(settings, asked, (into, name), lasting, limit, (as_json, as_csv))
    else:
        _run_once(settings, asked, limit, (as_json, as_csv))


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


def _say(line: str) -> None:
    print(f"▸ {line}", file=sys.stderr, flush=True)


def _view(columns: "Columns", form: tuple[bool, bool]) -> "View":
    from strom.cli.row_view import CsvView, JsonView, TableView

    as_json, as_csv = form
    if as_json:
        return JsonView()
    return CsvView(columns.names) if as_csv else TableView(columns.names, columns.numeric)


def _run_once(settings: "Settings", asked: "QueryFile", limit: int | None, form: tuple[bool, bool]) -> None:
    from itertools import islice

    from strom.pipeline.sql.quiet import quiet_session
    from strom.pipeline.sql.result import columns_of, fetched
    from strom.pipeline.sql.sources import Sources
    from strom.pipeline.sql.statement import is_explain, query_of
    from strom.pipeline.sql.views import Views

    query_of(asked.text)  # what is no query at all need not wait for Spark
    _say("Spark starts")
    with quiet_session(settings) as spark:
        frame = Views(settings, Sources(spark, settings), _say).query(asked.text)
        if is_explain(asked.text):
            print(frame.collect()[0][0])
            return
        shown = limit or (None if any(form) else TABLE_ROWS)
        rows = fetched(frame, None if shown is None else shown + 1)
        try:
            count = _view(columns_of(frame), form).show(islice(rows, shown))
        except BrokenPipeError:
            _close_output()
            return
        more = next(rows, None) is not None
    _say(f"{count:,} rows" + (", and there are more (--limit)" if more else ""))


def _run_live(
    settings: "Settings",
    asked: "QueryFile",
    target: tuple[str | None, str | None],
    lasting: str | None,
    limit: int | None,
    form: tuple[bool, bool],
) -> None:
    import threading
    from tempfile import TemporaryDirectory

    from strom.cli.running import stop_on_signals
    from strom.durations import duration
    from strom.pipeline.sql.into import check_topic
    from strom.pipeline.sql.live import LiveQuery, Watch, Wish
    from strom.pipeline.sql.quiet import quiet_session
    from strom.pipeline.sql.statement import query_of

    into, name = target
    query_of(asked.text)
    if into is not None:
        check_topic(into)
    wish = Wish(asked.text, asked.live(settings), into, asked.options.get("mode"))
    seconds = None if lasting is None else duration(lasting) / 1000
    stopped = threading.Event()
    _say("Spark starts")
    # Spark takes Ctrl-C for itself when it starts: the signals are ours only after that.
    with quiet_session(settings) as spark, stop_on_signals(stopped.set), TemporaryDirectory() as scratch:
        prepared = LiveQuery(spark, settings, wish, _say)
        if into is not None:
            query = prepared.start_into(name or into, trigger_seconds=settings.pipeline.trigger_seconds)
            _say(f"runs as {name or into} into {into} ({prepared.mode}); Ctrl-C ends it")
        else:
            shown = _Shown(_view(prepared.columns, form), limit, stopped)
            query = prepared.start_here(shown.take, scratch)
            _say(f"runs ({prepared.mode}); Ctrl-C ends it")
        watch = Watch(query)
        watch.until(stopped.is_set, seconds)
        if watch.late:
            _say(f"{watch.late:,} records came too late to count; --late gives them more time")


def _close_output() -> None:
    """Whoever read the rows has seen enough; what Python would still write at its end has nowhere to go."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the end of the process


class _Shown:
    """Shows batches until so many rows were shown, or nobody looks any more."""

    def __init__(self, view: "View", limit: int | None, stopped: "threading.Event") -> None:
        self._view = view
        self._left = limit
        self._stopped = stopped

    def take(self, rows: "Sequence[str]") -> None:
        if self._stopped.is_set():
            return
        try:
            count = self._view.show(rows[: self._left])
        except BrokenPipeError:
            _close_output()
            self._stopped.set()
            return
        if self._left is not None:
            self._left -= count
            if self._left <= 0:
                self._stopped.set()


def _check(settings: "Settings", place: Path) -> None:
    from strom.pipeline.sql.check import checked
    from strom.pipeline.sql.quiet import quiet_session

    wrong = 0
    _say("Spark starts")
    with quiet_session(settings) as spark:
        for path, would, sentence in checked(spark, settings, place):
            print(f"{path}: {would if sentence is None else sentence}")
            wrong += sentence is not None
    if wrong:
        raise typer.Exit(2)
