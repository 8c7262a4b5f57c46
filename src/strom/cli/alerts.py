"""`strom alerts`: what is worth a person's attention, now and before."""

import json
from typing import Annotated, Any

import typer

from strom.cli import alert_outlets
from strom.cli.options import HomeOption, PostgresOption, settings_from
from strom.domain.alerts import KINDS
from strom.errors import StromError


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List the alerts, and send them out.", no_args_is_help=True)
    group.command(name="list")(list_alerts)
    alert_outlets.register(group)
    app.add_typer(group, name="alerts")


def list_alerts(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that have ended; only open ones without.")
    ] = False,
    meter: Annotated[str | None, typer.Option(help="Of this meter only.")] = None,
    kind: Annotated[str | None, typer.Option(help=f"Of this kind only: {', '.join(KINDS)}.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest this many.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """The alerts, the newest first, each with the sentence that its householder reads.

    Example: strom alerts list --all --kind voltage
    """
    from strom.store.reads import AlertFilter, Reads

    if kind is not None and kind not in KINDS:
        raise StromError(f"{kind!r} is no kind of alert; choose from {', '.join(KINDS)}.")
    settings = settings_from(postgres=postgres, home=home)
    reads = Reads(settings.postgres_url)
    try:
        total, rows = reads.alerts(AlertFilter(not everything, meter, kind), limit, 0)
    finally:
        reads.close()
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False, default=_plain))
        return
    for row in rows:
        print(_line(row, settings.page.timezone))
    more = f", {len(rows):,} shown" if total > len(rows) else ""
    print(f"{total:,} {'alerts' if everything else 'open alerts'}{more}")


def _plain(value: Any) -> str:
    return str(value.isoformat()).replace("+00:00", "Z")


def _line(row: dict[str, Any], zone: str) -> str:
    from zoneinfo import ZoneInfo

    from strom.cli.record_view import safe

    started = f"{row['started'].astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
    ended = f"{row['ended'].astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" if row["ended"] else "open"
    severe = " !" if row["severe"] else ""
    return f"{started}  {ended:<16}  {row['kind'] + severe:<16}  {safe(row['text'])}"
