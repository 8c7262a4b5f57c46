"""`strom dead-letters`: what could not be read, why, and sending it in anew after a fix."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from

if TYPE_CHECKING:
    from strom.settings import Settings
    from strom.streams.dead_letters import DeadLetter, Wanted

ReasonOption = Annotated[
    list[str] | None, typer.Option("--reason", help="Only with this reason; may be given several times.")
]
MeterOption = Annotated[
    list[str] | None, typer.Option("--meter", help="Only of this meter; may be given several times.")
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what arrived from then on, such as 2026-11-15T20:15.")
]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Only what arrived before.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="List and show what could not be read, and send it in anew after a fix.", no_args_is_help=True
    )
    group.command(name="list")(list_letters)
    group.command(name="show")(show)
    group.command(name="redrive")(redrive)
    app.add_typer(group, name="dead-letters")


def list_letters(
    reason: ReasonOption = None,
    meter: MeterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """The dead letters, oldest first in each partition, and how many there are for each reason.

    Example: strom dead-letters list --reason not-json --since 2026-11-15
    """
    from collections import Counter

    from strom.streams.dead_letters import dead_letters, redriven_places

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    redriven = redriven_places(settings)
    counts: Counter[str] = Counter()
    if not as_json:
        print(f"{'place':<12}{'arrived':<21}{'reason':<20}{'meter':<22}{'bytes':>9}  sent in anew")
    for letter in dead_letters(settings, wanted):
        counts[letter.reason] += 1
        if as_json:
            print(json.dumps(_plain(letter, letter.place in redriven), ensure_ascii=False))
        else:
            print(_line(letter, letter.place in redriven, settings.page.timezone))
    if not as_json:
        told = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
        print(f"{counts.total():,} dead letters" + (f": {told}" if told else ""))


def show(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLACE]…", help="partition/offset, as `list` shows it; all that are wanted without."
        ),
    ] = None,
    reason: ReasonOption = None,
    meter: MeterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many, where no place is named.")] = 20,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Dead letters with their headers and value, and what Strom would make of them now.

    Example: strom dead-letters show 0/17
    """
    from rich.console import Console

    from strom.cli.record_view import show as show_record
    from strom.errors import StromError
    from strom.streams.dead_letters import dead_letters

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    letters = dead_letters(settings, wanted)
    found = {each.place: each for each in letters if not places or each.place in places}
    for place in places or ():
        if place not in found:
            raise StromError(
                f"there is no such dead letter at {place}; `strom dead-letters list` shows what there is."
            )
    console = Console(highlight=False)
    for place in places or list(found)[:limit]:
        show_record(console, found[place].record, settings.page.timezone)
        console.print(f"now: {_now(found[place])}", markup=False, soft_wrap=True)
    if not places:
        more = f", {limit:,} shown" if len(found) > limit else ""
        print(f"{len(found):,} dead letters{more}")


def redrive(
    reason: ReasonOption = None,
    meter: MeterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be sent.")] = False,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Send dead letters into the raw topic again, as they first came. Each is sent once, however often this runs.

    Example: strom dead-letters redrive --reason no-known-register --since 2026-11-15
    """
    from strom.streams.dead_letters import Redrive, dead_letters, redriven_places

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    if dry_run:
        done = redriven_places(settings)
        letters = [letter for letter in dead_letters(settings, wanted) if letter.place not in done]
        readable = sum("reason" not in _decoded(letter) for letter in letters)
        print(f"{len(letters):,} would be sent; {readable:,} of them can be read now.")
        return
    before = 0
    with Redrive(settings) as run:
        for letter in dead_letters(settings, wanted):
            if letter.place in run.done:
                before += 1
            else:
                run.send(letter)
    print(f"{run.sent:,} sent in anew" + (f"; {before:,} had been before" if before else "") + ".")


def _wanted(
    settings: "Settings",
    reasons: list[str] | None,
    meters: list[str] | None,
    since: str | None,
    until: str | None,
) -> "Wanted":
    from strom.cli.times import moment
    from strom.domain.reading import REASONS
    from strom.errors import StromError
    from strom.streams.dead_letters import Wanted

    for reason in reasons or ():
        if reason not in REASONS:
            raise StromError(f"{reason!r} is no reason; there are {', '.join(REASONS)}.")
    zone = settings.page.timezone
    bounds = {"since_ms": moment(since, zone)} if since else {}
    bounds |= {"until_ms": moment(until, zone)} if until else {}
    return Wanted(frozenset(reasons or ()), frozenset(meters or ()), **bounds)


def _plain(letter: "DeadLetter", redriven: bool) -> dict[str, Any]:
    from strom.domain.reading import time_text
    from strom.streams import topics

    return {
        "place": letter.place,
        "arrived": time_text(letter.arrived_ms),
        "reason": letter.reason,
        "detail": letter.detail,
        "meter": letter.meter,
        "origin": letter.record.header(topics.HEADER_ORIGIN),
        "bytes": len(letter.record.value or b""),
        "redriven": redriven,
    }


def _line(letter: "DeadLetter", redriven: bool, zone: str) -> str:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from strom.cli.record_view import safe

    arrived = datetime.fromtimestamp(letter.arrived_ms / 1000, ZoneInfo(zone))
    size = len(letter.record.value or b"")
    name = safe(letter.meter)
    shown = name if len(name) <= 20 else f"{name[:19]}…"
    return (
        f"{letter.place:<12}{arrived:%Y-%m-%d %H:%M:%S}  {safe(letter.reason):<20}{shown:<22}{size:>9,}"
        f"  {'yes' if redriven else ''}"
    ).rstrip()


def _decoded(letter: "DeadLetter") -> dict[str, Any]:
    from strom.devices import adapter_json
    from strom.domain.reading import Rejected
    from strom.streams import topics

    record = letter.record
    try:
        return adapter_json.decode(
            record.value or b"",
            received_ms=letter.arrived_ms,
            source=record.header(topics.HEADER_SOURCE) or "kafka",
            topic=record.header(topics.HEADER_TOPIC),
        )
    except Rejected as rejected:
        return {"reason": rejected.reason, "detail": rejected.detail}


def _now(letter: "DeadLetter") -> str:
    found = _decoded(letter)
    if "reason" in found:
        return f"still {found['reason']}: {found['detail']}"
    return f"a reading: {json.dumps(found, ensure_ascii=False)}"
