"""Queries in files: a head of comments says where the result goes and how, the rest is the query. Pure text."""

import re
from dataclasses import dataclass
from pathlib import Path

from strom.durations import duration
from strom.errors import StromError
from strom.pipeline.sql.modes import FOR_TOPIC
from strom.pipeline.sql.sources import Live
from strom.settings import Settings
from strom.streams.start import parse_start

SUFFIX = ".sql"
OPTIONS = ("into", "late", "mode", "from")
_LINE = re.compile(r"--\s*(\w+)\s*:\s*(.*?)\s*")
# Only these words are taken for options; `-- Note: …` is prose.
_NEAR_MISSES = {"topic": "into", "to": "into", "watermark": "late", "output": "mode", "start": "from"}


@dataclass(frozen=True)
class QueryFile:
    name: str
    text: str
    options: dict[str, str]

    def live(self, settings: Settings, usual_start: str = "latest") -> Live:
        start = parse_start(self.options.get("from", usual_start), settings.page.timezone)
        return Live(start, duration(self.options.get("late", settings.sql.late)))


def parse_query(name: str, text: str) -> QueryFile:
    """Read the head: the comment lines before the query."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        found = _LINE.fullmatch(line.strip())
        if found is None:
            continue
        option, value = found[1].lower(), found[2]
        if option in _NEAR_MISSES:
            raise StromError(f"`-- {option}:` is not an option of a query; `-- {_NEAR_MISSES[option]}:` is.")
        if option in OPTIONS:
            _take(options, option, value)
    return QueryFile(name, text, options)


def read_query(path: Path) -> QueryFile:
    try:
        return parse_query(path.stem, path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise StromError(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StromError(f"{path} cannot be read ({error}).") from None


def refuse_no_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise StromError(
            f"sql.queries is {folder}, which is not a folder; make it or leave the setting empty."
        )


def query_paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())


def _take(options: dict[str, str], option: str, value: str) -> None:
    if option in options:
        raise StromError(f"`-- {option}:` stands twice in the head of the query; leave one.")
    if not value:
        raise StromError(f"`-- {option}:` has no value.")
    if option == "mode" and value not in FOR_TOPIC:
        raise StromError(
            f"`-- mode: {value}` is not possible for a topic; there are {' and '.join(FOR_TOPIC)}."
        )
    options[option] = value
