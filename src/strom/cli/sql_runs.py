"""Runs what `strom sql` was asked for: once, live, or only a check; rows go to standard output, all else beside it."""

import os
import sys
import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from strom.cli.row_view import CsvView, JsonView, TableView, View
from strom.cli.running import end_like_ctrl_c, stop_on_signals
from strom.pipeline.quiet import quiet_session
from strom.pipeline.sql.check import checked
from strom.pipeline.sql.into import check_topic
from strom.pipeline.sql.live import LiveQuery, Watch, Wish
from strom.pipeline.sql.query_files import QueryFile
from strom.pipeline.sql.remote import question_session, url_of
from strom.pipeline.sql.result import Columns, columns_of, fetched
from strom.pipeline.sql.sources import Sources
from strom.pipeline.sql.statement import is_explain, query_of
from strom.pipeline.sql.views import Views
from strom.settings import Settings
from strom.stack.processes import is_alive
from strom.stack.ready import announced_pid

TABLE, JSON, CSV = "table", "json", "csv"
TABLE_ROWS = 100  # shown in a table unless --limit says otherwise
PIPELINE_ROWS = 50_000  # of a larger result a Spark of its own hands out a part at a time


def run_once(settings: Settings, asked: QueryFile, limit: int | None, form: str, *, alone: bool) -> None:
    """Ask what is there: in the running pipeline, or `alone` in a session of its own."""
    query_of(asked.text)  # what is no query at all need not wait for Spark
    end_like_ctrl_c()  # a question ends where it is answered, too
    if not _answered(settings, None if alone else _pipeline_url(settings), asked, limit, form):
        _say(f"these are more than {PIPELINE_ROWS:,} rows, too many for the memory of the pipeline")
        _answered(settings, None, asked, limit, form)


def _answered(settings: Settings, url: str | None, asked: QueryFile, limit: int | None, form: str) -> bool:
    """False, with nothing shown, if the pipeline is not to hold so large a result."""
    with question_session(settings, url, _say) as (spark, in_pipeline):
        frame = Views(settings, Sources(spark, settings), _say).query(asked.text)
        if is_explain(asked.text):
            print(frame.collect()[0][0])
            return True
        shown = limit or (TABLE_ROWS if form == TABLE else None)
        rows = fetched(frame, None if shown is None else shown + 1)
        if in_pipeline and (shown is None or shown > PIPELINE_ROWS):
            some = list(fetched(frame, PIPELINE_ROWS + 1))
            if len(some) > PIPELINE_ROWS:
                return False
            rows = iter(some)
        try:
            count = _view(columns_of(frame), form).show(islice(rows, shown))
        except BrokenPipeError:
            _close_output()
            return True
        more = next(rows, None) is not None
    _say(f"{count:,} rows" + (", and there are more (--limit)" if more else ""))
    return True


def _pipeline_url(settings: Settings) -> str | None:
    """Where the running pipeline of this home answers; None unless it does so."""
    if not settings.sql.connect or not is_alive(announced_pid(settings.home, "pipeline")):
        return None
    return url_of(settings)


def run_live(
    settings: Settings,
    asked: QueryFile,
    into: str | None,
    name: str | None,
    seconds: float | None,
    show: tuple[str, int | None],
) -> None:
    """Go on with what comes; `show` is the form of the rows and how many there may be."""
    query_of(asked.text)
    if into is not None:
        check_topic(into)
    wish = Wish(asked.text, asked.live(settings), into, asked.options.get("mode"))
    stopped = threading.Event()
    _say("Spark starts")
    # Spark takes Ctrl-C for itself when it starts: the signals are ours only after that.
    with (
        quiet_session(settings, "sql") as spark,
        stop_on_signals(stopped.set),
        TemporaryDirectory() as scratch,
    ):
        prepared = LiveQuery(spark, settings, wish, _say)
        if into is not None:
            query = prepared.start_into(name or into, trigger_seconds=settings.pipeline.trigger_seconds)
            _say(f"runs as {name or into} into {into} ({prepared.mode}); Ctrl-C ends it")
        else:
            shown = _Shown(_view(prepared.columns, show[0]), show[1], stopped)
            query = prepared.start_here(shown.take, scratch)
            _say(f"runs ({prepared.mode}); Ctrl-C ends it")
        watch = Watch(query)
        watch.until(stopped.is_set, seconds)
        if watch.late:
            _say(f"{watch.late:,} records came too late to count; --late gives them more time")


def run_check(settings: Settings, place: Path) -> None:
    """Tell of each query whether it would run; exit code 2 if one would not."""
    wrong = 0
    _say("Spark starts")
    with quiet_session(settings, "sql") as spark:
        for path, would, sentence in checked(spark, settings, place):
            print(f"{path}: {would if sentence is None else sentence}")
            wrong += sentence is not None
    if wrong:
        raise typer.Exit(2)


class _Shown:
    """Shows batches until so many rows were shown, or nobody looks any more."""

    def __init__(self, view: View, limit: int | None, stopped: threading.Event) -> None:
        self._view = view
        self._left = limit
        self._stopped = stopped

    def take(self, rows: Sequence[str]) -> None:
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


def _view(columns: Columns, form: str) -> View:
    if form == JSON:
        return JsonView()
    return CsvView(columns.names) if form == CSV else TableView(columns.names, columns.numeric)


def _say(line: str) -> None:
    print(f"▸ {line}", file=sys.stderr, flush=True)


def _close_output() -> None:
    """Whoever read the rows has seen enough; what Python would still write at its end has nowhere to go."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the end of the process
