"""`strom bench sustained`: the largest live rate at which nothing falls behind."""

from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.bench_tables import processor_table, ratio_table, runs_table
from strom.cli.options import HomeOption, settings_from

if TYPE_CHECKING:
    from strom.bench.sustained.run import Result


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
    the page 2 s, the tables 60 s. Exit code 1 if no rate holds.

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
        console.print(runs_table(result.runs))
    console.print(ratio_table(run.report))
    if run.measured.was_measured:
        console.print(processor_table(run.measured))
    for name, value in run.report.figures.items():
        if "µs of processor" not in name:
            print(f"{name}: {value:,}")
    if result.interrupted:
        print("It was interrupted; this is what was measured up to then.")
    elif result.found is None:
        print("No rate held.")
    else:
        print(f"Sustained: {result.found:,} messages a second.")
