"""`strom meters`: the meters, and what people enter about them: area, tariff, contract."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, PostgresOption, settings_from

if TYPE_CHECKING:
    from strom.domain.master_data import Entry
    from strom.settings import Settings

_CLEARS = "; '' takes it away"


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="List the meters and enter their area, tariff and contract.", no_args_is_help=True
    )
    group.command(name="list")(list_meters)
    group.command(name="show")(show)
    group.command(name="set")(set_meter)
    group.command(name="import")(import_meters)
    group.command(name="export")(export)
    app.add_typer(group, name="meters")


def list_meters(
    area: Annotated[str | None, typer.Option(help="Of this area only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """All meters with what is known of them.

    Example: strom meters list --area Nord
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from strom.cli.record_view import safe
    from strom.store.master_data import meters

    settings = settings_from(postgres=postgres, home=home)
    rows = meters(settings.postgres_url, area=area)
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False, default=_plain))
        return
    table = Table(box=None)
    headings = ("meter", "area", "tariff", "contract", "number", "every", "last seen")
    for heading in headings:
        table.add_column(heading, no_wrap=heading == "meter")
    for row in rows:
        every = "" if row["interval_s"] is None else f"{row['interval_s']:g} s"
        seen = _local(row["last_seen"], settings.page.timezone) or "never"
        cells = (
            *(row[name] or "" for name in ("meter", "area", "tariff", "contract", "meter_number")),
            every,
            seen,
        )
        table.add_row(*(Text(safe(each)) for each in cells))
    Console().print(table)
    print(f"{len(rows):,} meters")


def show(
    meter: Annotated[str, typer.Argument(metavar="METER", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """All that is known of one meter.

    Example: strom meters show haus-21
    """
    from strom.cli.record_view import safe
    from strom.errors import StromError
    from strom.store.master_data import meters

    settings = settings_from(postgres=postgres, home=home)
    found = meters(settings.postgres_url, meter=meter)
    if not found:
        raise StromError(f"There is no meter named {meter!r}; `strom meters list` shows those there are.")
    if as_json:
        print(json.dumps(found[0], ensure_ascii=False, default=_plain))
        return
    for name, value in found[0].items():
        shown = _local(value, settings.page.timezone) if hasattr(value, "astimezone") else value
        print(f"{name:<13}{'' if shown is None else safe(str(shown))}".rstrip())


def set_meter(
    meter: Annotated[str, typer.Argument(metavar="METER", show_default=False)],
    area: Annotated[str | None, typer.Option(help=f"Its area{_CLEARS}.")] = None,
    tariff: Annotated[str | None, typer.Option(help=f"Its tariff{_CLEARS}.")] = None,
    contract: Annotated[str | None, typer.Option(help=f"Its contract{_CLEARS}.")] = None,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Enter area, tariff or contract of a meter, also of one that has not been heard yet. What is not given stays.

    Example: strom meters set haus-21 --area Nord --tariff Tag-Nacht
    """
    from strom.domain.master_data import WrongEntry, entry
    from strom.errors import StromError

    given = {"area": area, "tariff": tariff, "contract": contract}
    values = {name: text for name, text in given.items() if text is not None}
    if not values:
        raise StromError("There is nothing to set; give --area, --tariff or --contract.")
    try:
        wanted = entry(meter, values)
    except WrongEntry as error:
        raise StromError(f"This cannot be entered: {error}.") from None
    new = _save(settings_from(postgres=postgres, home=home), [wanted])
    print(f"{wanted.meter}: set" + (", it has not been heard yet" if new else ""))


def import_meters(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", show_default=False)],
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Enter many at once: columns meter and some of area, tariff, contract. All of it is entered, or nothing.

    An empty cell takes the value away, a column that is not there leaves it; `export` writes such a file.

    Example: strom meters import meters.csv
    """
    from strom.domain.master_data import WrongEntry, read_csv
    from strom.errors import StromError

    try:
        entries = read_csv(sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8"))
    except WrongEntry as error:
        raise StromError(f"{file} cannot be taken: {error}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StromError(f"{file} cannot be read ({error}); it must be a CSV file in UTF-8.") from None
    new = _save(settings_from(postgres=postgres, home=home), entries)
    print(f"{len(entries):,} meters set" + (f", {len(new):,} of them not heard yet" if new else ""))


def export(postgres: PostgresOption = None, home: HomeOption = None) -> None:
    """All meters as CSV on standard output, in the form that `import` takes.

    Example: strom meters export > meters.csv
    """
    import csv

    from strom.store.master_data import COLUMNS, meters

    rows = meters(settings_from(postgres=postgres, home=home).postgres_url)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(
            [_plain(row[name]) if hasattr(row[name], "isoformat") else row[name] for name in COLUMNS]
        )


def _save(settings: "Settings", entries: "list[Entry]") -> list[str]:
    from strom.store.master_data import save_entries
    from strom.store.schema import ensure_schema
    from strom.store.writes import Writer

    ensure_schema(settings.postgres_url)
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        return save_entries(work, entries)


def _plain(value: Any) -> str:
    return str(value.isoformat()).replace("+00:00", "Z")


def _local(moment: Any, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return "" if moment is None else f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
