"""`strom bench`: figures of this machine, each beside a limit measured in the same run."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.bench_sustained import sustained
from strom.cli.bench_tables import ratio_table
from strom.cli.options import HomeOption, settings_from
from strom.cli.running import end_like_ctrl_c
from strom.errors import StromError

if TYPE_CHECKING:
    from strom.bench.report import Report

group = typer.Typer(help="Measure what this machine reaches.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    group.command()(sustained)
    app.add_typer(group, name="bench")


@group.callback()
def _group() -> None:
    """Benchmarks start servers of their own and leave nothing behind."""


@group.command()
def pipeline(
    quick: Annotated[bool, typer.Option("--quick", help="1,000,000 messages instead of 4,000,000.")] = False,
    messages: Annotated[int | None, typer.Option(min=10_000, help="Another number of messages.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="normalise, all, memory, lake, profile, latency, growth or workers; can be given several times."
        ),
    ] = None,
    meters: Annotated[int, typer.Option(min=1, help="How many meters send them.")] = 10_000,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("bench-pipeline.svg"),
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """The Spark pipeline: speed of its stages, latency, cost by meters that send, memory, look-ups in the lake,
    two Spark workers beside one.

    Each figure is a ratio to a bare Spark job over the same data. Exit code 1 if one falls short of what is asked.

    Example: strom bench pipeline --quick
    """
    from dataclasses import replace

    from strom.bench.ground import own_servers
    from strom.bench.pipeline import PipelineBench
    from strom.bench.plan import PARTS, QUICK, Plan

    plan = QUICK if quick else Plan()
    plan = replace(plan, messages=messages or plan.messages, meters=meters, parts=_parts(only, PARTS))
    end_like_ctrl_c()
    with own_servers(settings_from(home=home), _say) as settings:
        report = PipelineBench(settings, plan, _say).run()
    _finish(report, plot, as_json=as_json)


@group.command()
def late(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer meters, days and batches.")] = False,
    meters: Annotated[int | None, typer.Option(min=10, help="How many meters send.")] = None,
    interval: Annotated[
        int | None, typer.Option("--interval", min=1, metavar="SECONDS", help="How often each of them sends.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=30, help="How many days late readings can be late.")
    ] = None,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("bench-late.svg"),
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """Late readings: the cost of a message where 1 % come late beside none, over a small lake and one of 90 days.

    The stages on `readings` with their passes over the lake. Exit code 1 if a ratio is above what is asked.

    Example: strom bench late --quick
    """
    from dataclasses import replace

    from strom.bench.ground import own_servers
    from strom.bench.late import QUICK, LateBench, LatePlan

    plan = QUICK if quick else LatePlan()
    plan = replace(
        plan,
        meters=meters or plan.meters,
        interval_s=interval or plan.interval_s,
        days=days or plan.days,
    )
    end_like_ctrl_c()
    with own_servers(settings_from(home=home), _say) as settings:
        report = LateBench(settings, plan, _say).run()
    _finish(report, plot, as_json=as_json)


@group.command()
def gateway(
    quick: Annotated[bool, typer.Option("--quick", help="A third of the messages, in two runs.")] = False,
    connections: Annotated[
        int | None,
        typer.Option(min=1, help="Connections at once that send single messages; 256 if not given."),
    ] = None,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("bench-gateway.svg"),
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """The HTTP gateway: single messages beside an empty endpoint, arrays of 1,000 beside a bare producer loop.

    Each figure is a ratio within this run. Exit code 1 if one falls short of what is asked.

    Example: strom bench gateway --quick
    """
    from dataclasses import replace

    from strom.bench.gateway import QUICK, GatewayBench, GatewayPlan, with_gateway
    from strom.bench.ground import free_ports, own_servers

    plan = QUICK if quick else GatewayPlan()
    plan = replace(plan, connections=connections or plan.connections)
    end_like_ctrl_c()
    with own_servers(settings_from(home=home), _say, ("kafka",)) as settings:
        report = GatewayBench(with_gateway(settings, free_ports(1)[0]), plan, _say).run()
    _finish(report, plot, as_json=as_json)


@group.command()
def bridge(
    quick: Annotated[
        bool, typer.Option("--quick", help="A quarter of the messages, a tenth of the adapters.")
    ] = False,
    messages: Annotated[
        int | None, typer.Option(min=1_000, help="Another number of messages in a run.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="How often each is run; the best counts.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="speed, memory or adapters; can be given several times.")
    ] = None,
    adapters: Annotated[
        int | None, typer.Option(min=1, help="How many adapters are connected at once.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", help="For how long they are held.")
    ] = None,
    plot: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("bench-bridge.svg"),
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    home: HomeOption = None,
) -> None:
    """The bridge: messages a second at QoS 0 and 1, processor and memory, thousands of adapters at once.

    Held against a bare subscriber, and against Telegraf, Benthos, Bento or Redpanda Connect where they are on the PATH.
    Exit code 1 if a figure falls short of what is asked.

    Example: strom bench bridge --only adapters --adapters 10000 --for 300
    """
    from dataclasses import replace

    from strom.bench.bridge.plan import PARTS, QUICK, Plan
    from strom.bench.bridge.run import SERVERS, BridgeBench
    from strom.bench.ground import own_servers

    plan = QUICK if quick else Plan()
    plan = replace(
        plan,
        messages=messages or plan.messages,
        rounds=rounds or plan.rounds,
        adapters=adapters or plan.adapters,
        seconds=seconds or plan.seconds,
        parts=_parts(only, PARTS),
    )
    end_like_ctrl_c()
    with own_servers(settings_from(home=home), _say, SERVERS) as settings:
        report = BridgeBench(settings, plan, _say).run()
    _finish(report, plot, as_json=as_json)


def _parts(only: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := set(only or ()) - set(known):
        raise StromError(f"--only {min(unknown)} is unknown; there are {', '.join(known)}.")
    return tuple(only or known)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _finish(report: "Report", plot: Path, *, as_json: bool) -> None:
    from strom.bench.report import as_svg

    plot.write_text(as_svg(report), encoding="utf-8")
    _show(report, plot, as_json=as_json)
    if not report.reached:
        raise typer.Exit(1)


def _show(report: "Report", plot: Path, *, as_json: bool) -> None:
    import json

    from rich.console import Console

    if as_json:
        print(json.dumps(report.as_dict(), ensure_ascii=False))
        return
    Console().print(ratio_table(report))
    print(f"The picture is in {plot}.")
