"""`strom adapter`: boxes that are not there, with every interface of the real ones."""

from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, MqttOption, settings_from
from strom.cli.progress import say

if TYPE_CHECKING:
    from strom.devices.box.plan import Plan
    from strom.devices.simulator import Fleet, Wish

MIXED = "mixed"
SEED = 101  # another one than `strom simulate` has, so that both can run at one broker


def register(app: typer.Typer) -> None:
    app.command()(adapter)


def adapter(
    name: Annotated[
        str, typer.Option(help="What its owner typed; several boxes get a number behind it.")
    ] = "box",
    meters: Annotated[int, typer.Option(min=1, max=1000, help="How many boxes, each on the next ports.")] = 1,
    kind: Annotated[
        str, typer.Option(help="household, heat-pump, solar, car, everything, or mixed.")
    ] = "household",
    dialect: Annotated[
        str,
        typer.Option(
            help="How it writes its JSON: standard, netz-ooe, no-voltages, tariffs, …, or mixed; a wrong one lists all."
        ),
    ] = "standard",
    interval: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between two pushes.")] = 5.0,
    host: Annotated[str, typer.Option(help="Address that REST and Modbus listen on.")] = "127.0.0.1",
    rest_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the REST interface.")] = 8443,
    modbus_port: Annotated[
        int,
        typer.Option(
            min=1, max=65535, help="Port of the Modbus interface; 502, as on a real box, needs root."
        ),
    ] = 5020,
    no_mqtt: Annotated[bool, typer.Option("--no-mqtt", help="Do not publish.")] = False,
    no_rest: Annotated[bool, typer.Option("--no-rest", help="Offer no REST.")] = False,
    no_modbus: Annotated[bool, typer.Option("--no-modbus", help="Offer no Modbus.")] = False,
    token: Annotated[
        str | None, typer.Option(help="Token of the REST interface; made and kept if not given.")
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(metavar="KIND,…", help="What goes wrong with the meter, as in `strom simulate`."),
    ] = None,
    trouble: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,…",
            help="What is wrong with the box: slow, hang, garbage, cut, expired (its certificate).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same meters and the same bytes.")] = SEED,
    mqtt: MqttOption = None,
    home: HomeOption = None,
) -> None:
    """Be an adapter on a smart meter: MQTT, REST over HTTPS and Modbus TCP, three connections at once.

    Prints where it can be reached and the lines for strom.toml. Runs until Ctrl-C or SIGTERM.

    Example: strom adapter --kind solar --no-mqtt --trouble slow
    """
    from threading import Event

    from strom.cli.adapter_view import Ticker, introduce, summarise
    from strom.cli.running import stop_on_signals
    from strom.devices.box.box import Offer
    from strom.devices.box.plan import Plan
    from strom.devices.box.serving import serving
    from strom.devices.box.troubles import parse_troubles
    from strom.devices.clock import system_ms
    from strom.devices.simulator import parse_kinds
    from strom.errors import StromError
    from strom.stack.ready import announce

    if no_mqtt and no_rest and no_modbus:
        raise StromError("Nothing is left to offer; leave out one of --no-mqtt, --no-rest and --no-modbus.")
    settings = settings_from(mqtt=mqtt, home=home)
    plan = Plan(
        since_ms=system_ms(),
        count=meters,
        seed=seed,
        wish=_wish(name, kind, dialect),
        interval_s=interval,
        faults=parse_kinds(faults),
        offer=Offer(host, None if no_rest else rest_port, None if no_modbus else modbus_port, not no_mqtt),
        token=token,
        troubles=parse_troubles(trouble),
        topic=settings.mqtt.topic,
    )
    boxes = plan.boxes(settings.home, system_ms)
    publisher = None if no_mqtt else plan.publisher(settings, system_ms, say)
    _tell_faults(plan, settings.page.timezone)
    stop, ticker = Event(), Ticker(boxes, publisher)
    with stop_on_signals(stop.set), serving(boxes):
        introduce(boxes, settings, plan)
        announce(settings.home, "adapter")
        if publisher is not None:
            publisher.run(stop, ticker)
        while not stop.wait(0.2):
            ticker()
    ticker.clear()
    summarise(boxes, publisher)


def _wish(name: str, kind: str, dialect: str) -> "Wish":
    from strom.devices.simulator import Wish
    from strom.devices.simulator.dialects import dialect_named
    from strom.devices.simulator.premises import Kind
    from strom.errors import StromError

    if not name.strip():
        raise StromError("A box needs a --name; for one whose owner gave none choose --dialect unnamed.")
    if kind not in (MIXED, *Kind):
        raise StromError(f"{kind!r} is no kind of premises; choose from {', '.join(Kind)}, or {MIXED}.")
    return Wish(
        None if kind == MIXED else Kind(kind), None if dialect == MIXED else dialect_named(dialect), name
    )


def _tell_faults(plan: "Plan", zone: str) -> None:
    """Which box has which fault from when on, and which fault none of them can have."""
    from strom.cli.simulate import tell_faults

    fleet: Fleet = plan.fleet()
    tell_faults(fleet, zone)
    for kind in plan.faults:
        if kind not in {fault.kind for fault in fleet.faults()}:
            say(f"{kind:<9} cannot be shown by this kind and dialect")
