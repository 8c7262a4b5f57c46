"""`strom alerts send`, `outlets` and `retry`: alerts on their way out."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, KafkaOption, MqttOption, PostgresOption, settings_from

if TYPE_CHECKING:
    from strom.settings import Settings
    from strom.store.outlet_states import OutletState


def register(group: typer.Typer) -> None:
    group.command()(send)
    group.command()(outlets)
    group.command()(retry)


def send(
    test: Annotated[
        bool, typer.Option("--test", help="Only send one test alert to each outlet, and tell how that went.")
    ] = False,
    kafka: KafkaOption = None,
    mqtt: MqttOption = None,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Send alerts to the outlets in the settings: a webhook, MQTT, e-mail. `strom up` does so by itself.

    Runs until Ctrl-C or SIGTERM; started again, it goes on where it was. Each opening, worsening, end and withdrawal
    of an alert is sent once; after a crash in the very moment of sending it may come again with the same key.

    Example: strom alerts send --test
    """
    from strom.cli.running import stop_on_signals
    from strom.logs import log_to_stderr
    from strom.notify.sender import Sender
    from strom.restart_record import RESTARTS
    from strom.stack.ready import announce

    settings = settings_from(kafka=kafka, mqtt=mqtt, postgres=postgres, home=home)
    if test:
        _send_test(settings)
        return
    log_to_stderr()
    RESTARTS.keep(settings.home, "alerts")
    sender = Sender(settings)
    with stop_on_signals(sender.stop):
        sender.run(lambda: announce(settings.home, "alerts"))


def outlets(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """How each outlet is: what was delivered, what waits, what was refused, the last error.

    Example: strom alerts outlets --json
    """
    from strom.notify.catalogue import outlets_of, stored_name
    from strom.store.outlet_states import outlet_states

    settings = settings_from(postgres=postgres, home=home)
    set_up = [outlet for outlet, _ in outlets_of(settings)]
    states = outlet_states(settings.postgres_url, [stored_name(settings, outlet) for outlet in set_up])
    for outlet, state in zip(set_up, states, strict=True):
        if as_json:
            told = asdict(state) | {"outlet": outlet.name, "address": outlet.address}
            print(json.dumps(told, ensure_ascii=False, default=_plain))
        else:
            print(f"{outlet.name} to {outlet.address}: {_summary(state, settings.page.timezone)}")


def retry(
    outlet: Annotated[str, typer.Argument(help="webhook, mqtt or mail.")],
    postgres: PostgresOption = None,
    home: HomeOption = None,
) -> None:
    """Put what an outlet has refused back in line, after a fix; the running sender takes it from there.

    Example: strom alerts retry webhook
    """
    from strom.errors import StromError
    from strom.notify.catalogue import outlets_of, stored_name
    from strom.store.outlet_states import send_again

    settings = settings_from(postgres=postgres, home=home)
    names = {each.name: stored_name(settings, each) for each, _ in outlets_of(settings)}
    if outlet not in names:
        raise StromError(f"{outlet!r} is not an outlet that is set; there is {', '.join(names)}.")
    print(f"{send_again(settings.postgres_url, names[outlet]):,} wait again.")


def _send_test(settings: "Settings") -> None:
    from strom.cli.record_view import safe
    from strom.notify.outlet import Delivered
    from strom.notify.sender import send_test

    failed = False
    for name, address, answer in send_test(settings):
        if isinstance(answer, Delivered):
            told = f"delivered{f', but {answer.remark}' if answer.remark else ''}"
        else:
            told, failed = f"not delivered: {answer.why}", True
        print(safe(f"{name} to {address}: {told}"))
    if failed:
        raise typer.Exit(1)


def _summary(state: "OutletState", zone: str) -> str:
    from strom.cli.record_view import safe

    told = f"{state.delivered:,} delivered, {state.waiting:,} waiting, {state.refused:,} refused, {state.quiet:,} quiet"
    if state.given_up:
        told += f", {state.given_up:,} given up"
    if state.last_delivered is not None:
        told += f"; last at {_local(state.last_delivered, zone)}"
    if state.error is not None and state.error_at is not None:
        told += f"\n  {_local(state.error_at, zone)}: {safe(state.error)}"
    return told


def _local(moment: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


def _plain(value: Any) -> str:
    return str(value.isoformat()).replace("+00:00", "Z")
