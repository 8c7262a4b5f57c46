"""`strom tail`: look into topics."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from

if TYPE_CHECKING:
    from strom.streams.assembler import Trouble

FROM_HELP = (
    "earliest, latest, an offset (-5: the last five of each partition) or a time such as 2026-11-15T20:15 "
    "(default: latest; with --until-end earliest)."
)


def register(app: typer.Typer) -> None:
    app.command(name="tail")(tail)


def tail(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]…", show_default=False)] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="PLACE", help=FROM_HELP)] = None,
    group: Annotated[
        str | None, typer.Option(help="Read as this consumer group: go on where it stopped, and remember.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="End after this many records.")] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="End at what is the end of the topics now.")
    ] = False,
    pattern: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Also every topic whose whole name matches.")
    ] = None,
    auto_commit: Annotated[
        bool, typer.Option(help="Whether the group remembers what was shown here.")
    ] = True,
    raw_parts: Annotated[
        bool,
        typer.Option("--raw-parts", help="Show the parts of a large message instead of putting it together."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Show records of one or more topics as they come: key, time, headers and value. Ctrl-C ends it.

    A large message that was sent in parts is shown whole; one whose parts are missing is told on standard error.

    Example: strom tail sma-kafka readings --from 2026-11-15T20:15 --count 10
    """
    from rich.console import Console

    from strom.cli.record_view import as_json as json_line
    from strom.cli.record_view import show
    from strom.cli.running import stop_on_signals
    from strom.errors import StromError
    from strom.streams.consumer import Consumer
    from strom.streams.records import Records
    from strom.streams.start import parse_start

    if not topics and pattern is None:
        raise StromError("Name a topic or give --pattern; `strom topics list` shows what there is.")
    settings = settings_from(kafka=kafka, home=home)
    place = parse_start(start or ("earliest" if until_end else "latest"), settings.page.timezone)
    console = Console(highlight=False)
    records = (Records if raw_parts else Consumer)(
        settings,
        topics or [],
        pattern=pattern,
        start=place,
        group=group,
        auto_commit=auto_commit,
        until_end=until_end,
        count=count,
    )
    if isinstance(records, Consumer):
        records.on_trouble = _warn
    if not records.topics:
        print(f"No topic matches {pattern} yet; waiting for one. Ctrl-C ends it.", file=sys.stderr)
    with stop_on_signals(records.stop), records:
        for record in records:
            if as_json:
                print(json_line(record), flush=True)
            else:
                show(console, record, settings.page.timezone)


def _warn(trouble: "Trouble") -> None:
    print(f"warning: {trouble} --raw-parts shows what there is.", file=sys.stderr, flush=True)
