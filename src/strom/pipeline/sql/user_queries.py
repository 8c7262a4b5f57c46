"""The users' own queries beside the pipeline: one streaming query a file, each on its own.

A query that cannot be run or fails is told by its file and one sentence and tried again; neither the others nor the
pipeline notice. A file that is added, changed or taken away while the pipeline runs is noticed.
"""

import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from strom.errors import StromError
from strom.pipeline.ending import FINISH_SECONDS, let_finish, stop_query
from strom.pipeline.quiet import hush_pyspark
from strom.pipeline.sql.live import LiveQuery, Wish
from strom.pipeline.sql.query_files import QueryFile, query_paths, read_query, refuse_no_folder
from strom.pipeline.sql.spark_words import as_sentence
from strom.settings import Settings
from strom.supervision import SupervisedThread

ROUND_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds before a broken query is tried again, doubling in between
STABLE_SECONDS = 60.0  # a query that ran this long starts over with the first pause
RUNNING, BROKEN = "running", "broken"

log = logging.getLogger(__name__)


@dataclass
class _Entry:
    text: str
    query: StreamingQuery | None = None
    into: str = ""
    sentence: str = ""
    failures: int = 0
    started: float = 0.0
    next_try: float = 0.0


def wish_of(settings: Settings, file: QueryFile) -> Wish:
    if "into" not in file.options:
        raise StromError("The query does not tell into which topic it writes; begin with `-- into: TOPIC`.")
    return Wish(file.text, file.live(settings), file.options["into"], file.options.get("mode"))


class UserQueries:
    def __init__(self, settings: Settings, spark: SparkSession, folder: Path) -> None:
        refuse_no_folder(folder)
        hush_pyspark()
        self._settings = settings
        self._spark = spark
        self._folder = folder
        self._entries: dict[str, _Entry] = {}
        self._written: object = None
        self._stop = threading.Event()
        self._thread = SupervisedThread("queries", self._run, self._stop, log)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the batches under way end, all within the time that one may take, then stop every query."""
        self._stop.set()
        deadline = time.monotonic() + FINISH_SECONDS
        if self._thread.is_alive():
            self._thread.join(FINISH_SECONDS)
        for entry in list(self._entries.values()):
            _end(entry, max(0.0, deadline - time.monotonic()))
        self._settings.query_states.unlink(missing_ok=True)

    def round(self, now: float) -> None:
        """Bring what runs to what the folder says; `now` is in seconds of any clock that does not jump."""
        paths = {path.name: path for path in query_paths(self._folder)} if self._folder.is_dir() else {}
        for name in [name for name in self._entries if name not in paths]:
            log.info("%s is gone: its query ends", name)
            _end(self._entries.pop(name))
        for name, path in paths.items():
            self._look_after(name, path, now)
        self._write_states()

    @property
    def states(self) -> dict[str, dict[str, object]]:
        return {name: self._state(entry) for name, entry in self._entries.items()}

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.round(time.monotonic())
            except (OSError, PySparkException, Py4JError):
                log.exception("the queries could not be looked after; tried again")
            self._stop.wait(ROUND_SECONDS)

    def _look_after(self, name: str, path: Path, now: float) -> None:
        entry = self._entries.setdefault(name, _Entry(text=""))
        try:
            file = read_query(path)
        except StromError as error:
            if entry.query is not None or now >= entry.next_try:
                _end(entry)
                self._break(name, entry, str(error), now)
            return
        if file.text != entry.text:
            _end(entry)
            entry = self._entries[name] = _Entry(file.text)
        if entry.query is not None and not entry.query.isActive:
            failure, entry.query = entry.query.exception(), None
            self._break(name, entry, as_sentence(failure) if failure else "It ended without an error.", now)
        if entry.query is None and now >= entry.next_try:
            self._begin(name, file, entry, now)

    def _begin(self, name: str, file: QueryFile, entry: _Entry, now: float) -> None:
        try:
            wish = wish_of(self._settings, file)
            query = LiveQuery(self._spark, self._settings, wish)
            entry.query = query.start_into(file.name, trigger_seconds=self._settings.pipeline.trigger_seconds)
        except StromError as error:
            self._break(name, entry, str(error), now)
            return
        except (PySparkException, Py4JError) as error:
            self._break(name, entry, as_sentence(error), now)
            return
        entry.into, entry.started, entry.sentence = wish.into or "", now, ""
        log.info("%s runs into %s (%s)", name, wish.into, query.mode)

    def _break(self, name: str, entry: _Entry, sentence: str, now: float) -> None:
        if entry.started and now - entry.started > STABLE_SECONDS:
            entry.failures = 0
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**entry.failures)
        entry.failures, entry.next_try, entry.started = entry.failures + 1, now + pause, 0.0
        if sentence != entry.sentence:
            log.warning("%s: %s It is tried again.", name, sentence)
        entry.sentence = sentence

    def _state(self, entry: _Entry) -> dict[str, object]:
        state = BROKEN if entry.query is None else RUNNING
        shown: dict[str, object] = {"state": state, "into": entry.into, "failures": entry.failures}
        return shown | ({"why": entry.sentence} if state == BROKEN else {})

    def _write_states(self) -> None:
        """For `strom status`; replaced as a whole, so that a reader never sees half of it."""
        states = self.states
        if states == self._written:
            return
        path = self._settings.query_states
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps({"pid": os.getpid(), "queries": states}), encoding="utf-8")
        fresh.replace(path)
        self._written = states


def _end(entry: _Entry, seconds: float = FINISH_SECONDS) -> None:
    if entry.query is not None:
        let_finish(entry.query, seconds)
        stop_query(entry.query)
        entry.query = None
