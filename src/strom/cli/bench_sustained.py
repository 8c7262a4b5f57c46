"""`strom bench sustained`: the largest live rate at which nothing falls behind."""

from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, settings_from

if TYPE_CHECKING:
    from rich.console import Console

    from strom.bench.sustained.run import Result, Run


def sustained(
    rate: Annotated[
        int | None, typer.Option(min=1, help="Run only at this many messages a second, without a search.")
    ] = None,
    meters: Annotated[
        int | None,
        typer.Option(min=1, help="How many meters send them; five for each message a second if not given."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="How long the run that decides is measured; 300 if not given.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="60 s instead of 300, 30 s for each rate of the search.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """The whole way, live: the most messages a second that meters can send for long without anything falling behind.

    Simulated meters publish to Mosquitto; bridge, Kafka, pipeline, tables, lake and page run as `strom up` starts them.
    Each rate gets a new stack. It holds if every message arrives and nothing falls behind: `readings` at most 1 s (p99),
    the page 2 s, the tables 60 s. Exit code 1 if none holds.

    Ctrl-C ends the run and tells what was measured. The search takes about half an hour.

    Example: strom bench sustained --rate 2000 --seconds 120
    """
    from dataclasses import replace

    from strom.bench.sustained.plan import QUICK, Plan
    from strom.bench.sustained.run import SustainedBench
    from strom.cli.running import INTERRUPTED, stop_on_signals
    from strom.cli.terminal import Terminal

    plan = QUICK if quick else Plan()
    plan = replace(plan, meters=meters, seconds=seconds or plan.seconds)
    plan = replace(plan, probe_seconds=min(plan.probe_seconds, plan.seconds))
    plan.meters_at(rate or plan.first_rate)
    terminal = Terminal()
    bench = SustainedBench(settings_from(home=home), plan, terminal.say, terminal.tick)
    with stop_on_signals(bench.stop):
        result = bench.run(rate)
    terminal.clear()
    _show(result, as_json=as_json)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.found is None:
        raise typer.Exit(1)


def _show(result: "Result", *, as_json: bool) -> None:
    import json

    from rich.console import Console

    if as_json:
        print(json.dumps(result.as_dict(), ensure_ascii=False))
        return
    console = Console()
    run = result.shown
    if run is None:
        print("Nothing was measured.")
        return
    if len(result.runs) > 1:
        _show_runs(result.runs, console)
    _show_verdicts(run, console)
    _show_processor(run, console)
    for name, value in run.report.figures.items():
        if "processor" not in name or "idle" in name:
            print(f"{name}: {value:,}")
    if result.interrupted:
        print("It was interrupted; this is what was measured up to then.")
    elif result.found is None:
        print("No rate held.")
    else:
        print(f"Sustained: {result.found:,} messages a second.")


def _show_runs(runs: "list[Run]", console: "Console") -> None:
    from rich.table import Table

    table = Table(
        "messages/s", "measured", "", box=None, padding=(0, 2, 0, 0), title="Tried", title_justify="left"
    )
    for run in runs:
        outcome = "[green]holds[/]" if run.held else f"[red]{run.why}[/]"
        table.add_row(f"{run.measured.rate:,}", f"{run.measured.seconds:.0f} s", outcome)
    console.print(table)


def _show_verdicts(run: "Run", console: "Console") -> None:
    from rich.table import Table

    table = Table(title=run.report.conditions, box=None, padding=(0, 2, 0, 0), title_justify="left")
    for name in ("", "ratio", "asked", "against", ""):
        table.add_column(name, justify="right" if name == "ratio" else "left")
    for measure in run.report.measures:
        ratio = f"{'[green]' if measure.reached else '[red]'}{measure.ratio:.2f}[/]"
        table.add_row(measure.name, ratio, measure.asked, measure.against, measure.detail)
    console.print(table)


def _show_processor(run: "Run", console: "Console") -> None:
    from rich.table import Table

    from strom.bench.sustained.measured import per_message

    found = run.measured
    if not found.was_measured:
        return
    table = Table(title="Processor time", box=None, padding=(0, 2, 0, 0), title_justify="left")
    for name in ("", "µs a message", "of one core"):
        table.add_column(name, justify="left" if not name else "right")
    for part, used_us in sorted(per_message(found).items(), key=lambda row: -row[1]):
        table.add_row(part, f"{used_us:,.1f}", f"{used_us * found.sent / found.seconds / 1e4:.0f} %")
        for kind, used in found.used.threads.get(part, {}).items():
            table.add_row(
                f"  {kind}",
                f"{used / found.sent * 1e6:,.1f}",
                f"{100 * used / found.seconds:.0f} %",
                style="dim",
            )
    console.print(table)
