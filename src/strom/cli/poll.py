"""`strom poll`: asks adapters by REST and Modbus until stopped."""

from collections.abc import Collection
from pathlib import Path

import typer

from strom.cli.options import HomeOption, KafkaOption


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Ask adapters by REST or Modbus, and send each new push to Kafka.", no_args_is_help=True
    )
    group.command(name="rest")(rest)
    group.command(name="modbus")(modbus)
    group.command(name="all")(everything)
    group.command(name="check")(check)
    app.add_typer(group, name="poll")


def rest(kafka: KafkaOption = None, home: HomeOption = None) -> None:
    """Ask the adapters of strom.toml that have by = "rest", each at its interval; runs until Ctrl-C or SIGTERM.

    Each needs its token and the fingerprint of its certificate; `strom poll check` tells that one.

    Example: strom poll rest --kafka kafka-1:9092,kafka-2:9092
    """
    from strom.settings import REST

    _poll((REST,), kafka, home)


def modbus(kafka: KafkaOption = None, home: HomeOption = None) -> None:
    """Ask the adapters of strom.toml that have by = "modbus", each at its interval; runs until Ctrl-C or SIGTERM.

    The SunSpec map is found by itself; a reading is one request.

    Example: strom poll modbus --kafka kafka-1:9092
    """
    from strom.settings import MODBUS

    _poll((MODBUS,), kafka, home)


def everything(kafka: KafkaOption = None, home: HomeOption = None) -> None:
    """Ask all adapters of strom.toml, each at its interval; runs until Ctrl-C or SIGTERM.

    Example: strom poll all
    """
    from strom.settings import MODBUS, REST

    _poll((REST, MODBUS), kafka, home)


def check(home: HomeOption = None) -> None:
    """Ask each adapter of strom.toml once, without Kafka, and tell what it says or what is wrong (exit code 1).

    Example: strom poll check
    """
    import asyncio

    from strom.cli.options import settings_from
    from strom.cli.record_view import safe
    from strom.ingest.poll.check import check_all

    failed = False
    for line, good in asyncio.run(check_all(settings_from(home=home))):
        print(safe(line))
        failed = failed or not good
    if failed:
        raise typer.Exit(1)


def _poll(ways: Collection[str], kafka: str | None, home: Path | None) -> None:
    from strom.cli.options import settings_from
    from strom.cli.running import stop_on_signals
    from strom.ingest.poll.poller import Poller
    from strom.logs import log_to_stderr
    from strom.restart_record import RESTARTS
    from strom.stack.ready import announce

    settings = settings_from(kafka=kafka, home=home)
    log_to_stderr()
    RESTARTS.keep(settings.home, "poll")
    running = Poller(settings, ways, on_ready=lambda: announce(settings.home, "poll"))
    with stop_on_signals(running.stop):
        running.run()
