"""`strom up`, `strom down`, `strom status`: the embedded stack from the command line."""

import json
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import (
    HomeOption,
    KafkaOption,
    MqttOption,
    PostgresOption,
    SparkOption,
    settings_from,
)

if TYPE_CHECKING:
    from strom.settings import Settings

ONLY_HELP = (
    "Parts to start, of kafka, mqtt, postgres, spark, bridge, poll, pipeline, serve, gateway, alerts; all if not given, "
    "spark only with --spark-master cluster, poll only where adapters are set, alerts only where an outlet is."
)


def register(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(down)
    app.command()(status)


def up(
    only: Annotated[str | None, typer.Option("--only", metavar="PART,…", help=ONLY_HELP)] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when all is ready; `strom down` stops it.")
    ] = False,
    kafka: KafkaOption = None,
    mqtt: MqttOption = None,
    postgres: PostgresOption = None,
    spark_master: SparkOption = None,
    home: HomeOption = None,
) -> None:
    """Start the stack and watch over it: a part that dies is started again. Ctrl-C stops it.

    Example: strom up --only kafka,mqtt,postgres --detach
    """
    from strom.stack.catalogue import usual

    settings = settings_from(kafka=kafka, mqtt=mqtt, postgres=postgres, spark_master=spark_master, home=home)
    parts = (
        [name.strip() for name in only.split(",") if name.strip()] if only is not None else usual(settings)
    )
    bring_up(settings, parts, detach=detach)


def down(home: HomeOption = None) -> None:
    """Stop all that runs in this home and wait until it is gone.

    Example: strom down
    """
    from strom.stack.background import end

    folder = settings_from(home=home).home
    pids = end(folder.absolute())
    for pid in pids:
        print(f"The stack (pid {pid}) has stopped.")
    if not pids:
        print(f"No stack is running in {folder}.")


def status(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
    kafka: KafkaOption = None,
    mqtt: MqttOption = None,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Show each part's state, address, pid and how often it was started again.

    Example: strom status --json
    """
    from strom.stack.state import status as status_of

    parts = status_of(settings_from(kafka=kafka, mqtt=mqtt, postgres=postgres, home=home))
    if as_json:
        print(json.dumps(parts, indent=2, ensure_ascii=False))
    else:
        _print_table(parts)


def bring_up(
    settings: "Settings",
    parts: list[str],
    *,
    detach: bool,
    quiet: bool = False,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Start these parts, here or in the background; `quiet` tells progress on standard error."""
    report = _report_aside if quiet else _report
    if detach:
        _up_detached(settings, parts, report, on_ready)
    else:
        _up_here(settings, parts, report, on_ready)


def _up_detached(
    settings: "Settings",
    parts: list[str],
    report: Callable[[str], None],
    on_ready: Callable[[], None] | None,
) -> None:
    from strom.stack.background import start
    from strom.stack.catalogue import choose

    choose(settings, parts)
    pid = start(settings, parts, report)
    report(f"The stack runs in the background (pid {pid}); `strom down` stops it.")
    if on_ready is not None:
        on_ready()


class _StopRequested(BaseException):
    """Raised by the first SIGINT or SIGTERM, wherever the start happens to be."""


def _up_here(
    settings: "Settings",
    parts: list[str],
    report: Callable[[str], None],
    on_ready: Callable[[], None] | None,
) -> None:
    from strom.stack.background import announced_as
    from strom.stack.ready import announce
    from strom.stack.supervisor import Stack

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _request_stop)
    try:
        with Stack(settings, parts, report=report):
            announce(settings.home, announced_as(settings, parts))
            report("all parts are ready")
            if on_ready is not None:
                on_ready()
            threading.Event().wait()
    except _StopRequested:
        report("stopped")


def _request_stop(number: int, frame: FrameType | None) -> None:
    # The stop that follows takes its time and must not be cut short by an impatient second signal.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise _StopRequested


def _report(line: str) -> None:
    print(line, flush=True)


def _report_aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_table(parts: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from strom.cli.record_view import safe

    colours = {"running": "green", "external": "cyan", "stopped": "dim"}
    table = Table("part", "state", "address", "pid", "restarts", box=None, header_style="bold")
    for name, part in parts.items():
        state = f"[{colours[part['state']]}]{part['state']}[/]"
        table.add_row(name, state, part["address"], str(part.get("pid", "")), str(part["restarts"]))
    console = Console()
    console.print(table)
    for name, part in parts.items():
        if failed := part.get("background"):
            told = (
                f"{name}: work in the background was started again, {failed['restarts']} times since the start; "
                f"last {failed['work']} at {failed['at']} ({failed['error']})"
            )
            console.print(safe(told), markup=False, highlight=False, soft_wrap=True)
    for name, query in parts["pipeline"].get("queries", {}).items():
        told = f"into {query['into']}" if query["state"] == "running" else query["why"]
        console.print(
            f"query {name}: {query['state']}, {told}", markup=False, highlight=False, soft_wrap=True
        )
