"""How rows of a query are shown: a table that fits the terminal, JSON lines or CSV. Knows no Spark."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strom.cli.record_view import safe

LEAST_WIDTH = 8  # a column narrower than this tells nothing
_PADDING = 2
_LONGEST_CELL = 2_000


class View(Protocol):
    def show(self, rows: Iterable[str]) -> int:
        """Show these rows (one JSON object each) and tell how many they were."""


class JsonView:
    def show(self, rows: Iterable[str]) -> int:
        count = 0
        for row in rows:
            count += 1
            sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
        return count


class CsvView:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._headed = False

    def show(self, rows: Iterable[str]) -> int:
        if not self._headed:
            self._writer.writerow(self._names)
            self._headed = True
        count = 0
        for row in rows:
            count += 1
            values = _parsed(row)
            self._writer.writerow([_csv_cell(values[name]) for name in self._names])
        sys.stdout.flush()
        return count


class TableView:
    """Columns keep the width that they have grown to, so that batches of a live query stand below each other."""

    def __init__(self, names: Sequence[str], numeric: Sequence[bool], console: Console | None = None) -> None:
        self._names = names
        self._numeric = numeric
        self._widths: list[int] = []
        # What is no terminal cuts nothing off.
        self._console = console or Console(
            highlight=False, width=None if sys.stdout.isatty() else 100_000, soft_wrap=False
        )

    def show(self, rows: Iterable[str]) -> int:
        cells = [[cell(_parsed(row)[name]) for name in self._names] for row in rows]
        if not cells:
            return 0
        widest = [max(len(each[place]) for each in cells) for place in range(len(self._names))]
        if self._console.width < len(self._names) * (LEAST_WIDTH + _PADDING) and len(self._names) > 1:
            self._show_below(cells)
        else:
            self._show_beside(cells, widest)
        return len(cells)

    def _show_beside(self, cells: list[list[str]], widest: list[int]) -> None:
        known = self._widths or [len(name) for name in self._names]
        widths = [max(pair) for pair in zip(known, widest, strict=True)]
        headed = widths != self._widths
        self._widths = widths
        table = Table(
            box=None, show_header=headed, header_style="bold", pad_edge=False, padding=(0, _PADDING, 0, 0)
        )
        for name, numeric, width in zip(self._names, self._numeric, widths, strict=True):
            justify: Any = "right" if numeric else "left"
            least = min(width, max(LEAST_WIDTH, self._console.width // len(self._names) - _PADDING))
            table.add_column(
                Text(safe(name)),
                justify=justify,
                no_wrap=True,
                overflow="ellipsis",
                min_width=least,
                max_width=width,
            )
        for row in cells:
            table.add_row(*(Text(each) for each in row))
        self._console.print(table)

    def _show_below(self, cells: list[list[str]]) -> None:
        """Too many columns to stand beside each other: one a line, those without a value left out."""
        width = max(len(name) for name in self._names)
        for row in cells:
            for name, value in zip(self._names, row, strict=True):
                if value:
                    line = Text(f"{safe(name):<{width}}  ", style="bold").append(
                        Text(value, style="not bold")
                    )
                    self._console.print(line, soft_wrap=True)
            self._console.print()


def cell(value: Any) -> str:
    """A value as people read it: times without their T, numbers without empty decimals, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, str):
        return safe(_time(value))[:_LONGEST_CELL]
    if isinstance(value, dict) and set(value) == {"start", "end"}:
        return f"{cell(value['start'])} – {cell(value['end'])}"  # a window
    return safe(json.dumps(value, ensure_ascii=False, default=_plain))[:_LONGEST_CELL]


def _parsed(row: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(row, parse_float=Decimal, parse_int=Decimal)
    return values


def _number(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _time(text: str) -> str:
    """`2026-11-15T20:15:00.000Z` as `2026-11-15 20:15:00Z`; any other text as it is."""
    if len(text) == 24 and text[10] == "T" and text[23] == "Z" and text[4] == "-" and text[19] == ".":
        return f"{text[:10]} {text[11:19]}{'' if text[19:23] == '.000' else text[19:23]}Z"
    return text


def _csv_cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, Decimal)):
        return cell(value)
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return int(value) if value == value.to_integral_value() else float(value)
