"""What people know of a meter and it cannot tell itself: its area, tariff and contract; and the table of it as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIELDS = ("area", "tariff", "contract")
# Columns that an export has too; an import passes over them, since the pipeline alone knows.
TOLD_BY_METERS = ("meter_number", "interval_s", "first_seen", "last_seen")
LONGEST = 200


class WrongEntry(ValueError):  # noqa: N818  the declared outcome, not a fault
    """Says in one sentence what is wrong with an entry."""


@dataclass(frozen=True)
class Entry:
    """One meter and what is set of it: None takes a value away, a field that is not in `values` stays as it is."""

    meter: str
    values: Mapping[str, str | None]


def entry(meter: str, values: Mapping[str, str | None]) -> Entry:
    name = _clean("meter", meter)
    if name is None:
        raise WrongEntry("the name of the meter is empty")
    return Entry(
        name,
        {field: None if text is None else _clean(field, text) for field, text in values.items()},
    )


def read_csv(text: str) -> list[Entry]:
    """Entries of a table with the column `meter` and some of area, tariff, contract; comma or semicolon between them."""
    text = text.removeprefix("\ufeff")
    head = text.split("\n", 1)[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in head else ",", strict=True)
    names = [name.strip().lower() for name in next(rows, [])]
    _check_head(names)
    found: dict[str, Entry] = {}
    try:
        for cells in rows:
            if any(each.strip() for each in cells):
                one = _row(names, cells, rows.line_num)
                if one.meter in found:
                    raise WrongEntry(f"line {rows.line_num}: {one.meter} stands in the table twice")
                found[one.meter] = one
    except csv.Error as error:
        raise WrongEntry(f"line {rows.line_num}: {error}") from None
    return list(found.values())


def _check_head(names: Sequence[str]) -> None:
    if "meter" not in names:
        raise WrongEntry("the first line does not name a column meter")
    wrong = [name for name in names if name not in ("meter", *FIELDS, *TOLD_BY_METERS)]
    if wrong or len(set(names)) < len(names):
        raise WrongEntry(
            f"the first line names {wrong[0]!r}, which is no column; there are meter, {', '.join(FIELDS)}"
            if wrong
            else "the first line names a column twice"
        )
    if not set(names) & set(FIELDS):
        raise WrongEntry(f"the first line names none of {', '.join(FIELDS)}")


def _row(names: Sequence[str], cells: Sequence[str], line: int) -> Entry:
    if len(cells) != len(names):
        raise WrongEntry(f"line {line} has {len(cells)} columns, the first line has {len(names)}")
    values = dict(zip(names, cells, strict=True))
    try:
        return entry(values["meter"], {name: values[name] for name in FIELDS if name in values})
    except WrongEntry as error:
        raise WrongEntry(f"line {line}: {error}") from None


def _clean(field: str, text: str) -> str | None:
    """Blanks around it do not count, and nothing but blanks is nothing."""
    found = text.strip()
    if not found.isprintable():
        raise WrongEntry(f"the {field} has characters that cannot be shown")
    if len(found) > LONGEST:
        raise WrongEntry(f"the {field} has {len(found)} characters; {LONGEST} are the most")
    return found or None
