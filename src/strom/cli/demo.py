"""`strom demo`: all of Strom with simulated meters, on this machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, settings_from

if TYPE_CHECKING:
    from strom.cli.terminal import Terminal
    from strom.demo.summary import Summary


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    seconds: Annotated[
        float | None,
        typer.Option("--for", metavar="SECONDS", help="End by itself after this much live time."),
    ] = None,
    meters: Annotated[int, typer.Option(min=1, help="How many simulated meters.")] = 50,
    interval: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between two pushes.")] = 5.0,
    history: Annotated[
        str, typer.Option(metavar="1d", help="How much of the past to fill first; 0 is none.")
    ] = "1d",
    faults: Annotated[
        str,
        typer.Option(
            metavar="KIND,…",
            help="silent, clock, reset, voltage, malformed, phase-loss, jump, overload, left-on, plant-off, all or none.",
        ),
    ] = "all",
    seed: Annotated[int, typer.Option(help="The same seed gives the same meters.")] = 1,
    browser: Annotated[bool, typer.Option(help="Open the page when there is a display.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """Run everything: meters, broker, bridge, Kafka, pipeline, tables, lake and the live page.

    Runs until Ctrl-C, or ends by itself with --for; then tells what arrived where. Exit code 1 if anything is missing.

    Example: strom demo --for 60
    """
    from strom.cli.running import stop_on_signals
    from strom.cli.terminal import Terminal
    from strom.cli.times import duration
    from strom.demo.run import Demo, Plan

    plan = Plan(
        meters=meters,
        interval_s=interval,
        history_ms=0 if history == "0" else duration(history),
        seconds=seconds,
        faults=None if faults == "none" else faults,
        seed=seed,
    )
    terminal = Terminal()
    running = Demo(settings_from(home=home), plan, terminal.say)
    with stop_on_signals(running.stop):
        summary = running.run(lambda address: _welcome(address, terminal, browser=browser), terminal.tick)
    terminal.clear()
    _show(summary, as_json=as_json)
    if not summary.nothing_lost:
        raise typer.Exit(1)


def _welcome(address: str, terminal: "Terminal", *, browser: bool) -> None:
    import webbrowser

    from strom.settings import has_display

    terminal.say(f"The page is at {address} (Ctrl-C ends the demo)")
    if browser and has_display():
        webbrowser.open(address)


def _show(summary: "Summary", *, as_json: bool) -> None:
    import json

    from rich.console import Console
    from rich.table import Table

    if as_json:
        print(json.dumps(summary.as_dict()))
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for row in summary.lines():
        table.add_row(*row)
    Console().print(table)
    print(
        "Nothing was lost."
        if summary.nothing_lost
        else "Not everything arrived: the counts above do not agree."
    )
