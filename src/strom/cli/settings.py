"""`strom settings`: every setting, its value here and what it is for."""

import json
from typing import Annotated

import typer

from strom.cli.options import HomeOption, settings_from


def register(app: typer.Typer) -> None:
    app.command(name="settings")(settings)


def settings(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
    home: HomeOption = None,
) -> None:
    """List every setting with its value here and its meaning.

    Set one in strom.toml ([kafka] port = 9192), by a variable (STROM_KAFKA_PORT=9192) or by a flag; the later wins.
    """
    from strom.settings import described

    found = described(settings_from(home=home))
    if as_json:
        print(json.dumps({each.name: each.value for each in found}))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("setting", "value", "meaning", box=None, padding=(0, 2, 0, 0))
    for each in found:
        shown = "" if each.value is None else str(each.value)
        table.add_row(each.name, escape(shown), escape(each.meaning))
    Console().print(table)
