"""`strom dead-letters`: what could not be read, why, and sending it in anew after a fix."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from

if TYPE_CHECKING:
    from strom.settings import Settings
    from strom.streams.dead_letters import Wanted

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
    from strom.cli.letter_view import line, plain, summary
    from strom.streams.dead_letters import dead_letters
    from strom.streams.redrive import redriven

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    done = redriven(settings)
    counts: Counter[str] = Counter()
    if not as_json:
        print(f"{'place':<12}{'arrived':<21}{'reason':<20}{'meter':<22}{'bytes':>9}  sent in anew")
    for letter in dead_letters(settings, wanted):
        counts[letter.reason] += 1
        if as_json:
            print(json.dumps(plain(letter, letter.identity in done), ensure_ascii=False))
        else:
            print(line(letter, letter.identity in done, settings.page.timezone))
    if not as_json:
        print(summary(counts))


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

    from strom.cli.letter_view import show as show_letter
    from strom.errors import StromError
    from strom.streams.dead_letters import dead_letters, with_copies

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    console = Console(highlight=False)
    if places:
        named = (each for each in with_copies(settings, wanted.since_ms) if wanted.holds(each))
        found = {each.place: each for each in named if each.place in places}
        for place in places:
            if place not in found:
                raise StromError(
                    f"there is no such dead letter at {place}; `strom dead-letters list` shows what there is."
                )
        for place in places:
            show_letter(console, found[place], settings)
        return
    count = 0
    for count, letter in enumerate(dead_letters(settings, wanted), start=1):
        if count <= limit:
            show_letter(console, letter, settings)
    print(f"{count:,} dead letters" + (f", {limit:,} shown" if count > limit else ""))


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
    from strom.cli.letter_view import decoded
    from strom.streams.dead_letters import dead_letters
    from strom.streams.redrive import Redrive, redriven

    settings = settings_from(kafka=kafka, home=home)
    wanted = _wanted(settings, reason, meter, since, until)
    if dry_run:
        done = redriven(settings)
        todo = (letter for letter in dead_letters(settings, wanted) if letter.identity not in done)
        outcomes = Counter("reason" not in decoded(letter, settings) for letter in todo)
        print(f"{outcomes.total():,} would be sent; {outcomes[True]:,} of them can be read now.")
        return
    before = 0
    with Redrive(settings) as run:
        for letter in dead_letters(settings, wanted):
            if letter.identity in run.done:
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
