"""`strom simulate`: adapters that are not there, publishing as real ones would."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, MqttOption, settings_from
from strom.cli.progress import ProgressLine, say

if TYPE_CHECKING:
    from strom.devices.adapter import Progress
    from strom.devices.simulator import Fleet


def register(app: typer.Typer) -> None:
    app.command()(simulate)


def simulate(
    meters: Annotated[int, typer.Option(help="How many adapters, each with its own meter.")] = 100,
    interval: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between two pushes.")] = 5.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same meters and the same bytes.")] = 1,
    history: Annotated[
        str | None, typer.Option(metavar="1d", help="First fill this much of the past, then go on live.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Or fill the past from this time on.")
    ] = None,
    history_interval: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds between two pushes of the past.")
    ] = 60.0,
    speed: Annotated[
        float | None,
        typer.Option(
            help="Replay the past so many times as fast as the clock, at --interval; without it: at once."
        ),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End at this time of the meters.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="SECONDS",
            help="End so long after the start; a past sent at once is not counted.",
        ),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,…",
            help="silent, clock, reset, voltage, malformed, phase-loss, jump, overload, left-on, plant-off, or all; none unless given.",
        ),
    ] = None,
    qos: Annotated[int, typer.Option(help="0, or 1: counted when the broker has confirmed.")] = 1,
    rate: Annotated[float | None, typer.Option(help="At most so many messages per second.")] = None,
    mqtt: MqttOption = None,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Publish what simulated meters measure: households, heat pumps, solar plants, electric cars.

    Runs until Ctrl-C, SIGTERM, --until or --for. Exit code 1 if some messages were never confirmed.

    Example: strom simulate --meters 50 --history 1d --faults silent,voltage
    """
    from threading import Event

    from strom.cli.running import stop_on_signals
    from strom.cli.times import moment
    from strom.devices.adapter import Publisher
    from strom.devices.simulator import Fleet, parse_kinds
    from strom.devices.simulator.timeline import Timeline
    from strom.stack.ready import announce

    settings = settings_from(mqtt=mqtt, home=home)
    zone = settings.page.timezone
    now_ms = time.time_ns() // 1_000_000
    timeline = Timeline(
        interval_s=interval,
        start_ms=_start_ms(start, history, speed, zone, now_ms),
        until_ms=None if until is None else moment(until, zone),
        live_s=seconds,
        speed=speed,
        history_interval_s=history_interval,
    )
    fleet = Fleet(
        meters, seed=seed, faults=parse_kinds(faults), faults_from_ms=now_ms, topic=settings.mqtt.topic
    )
    stop, ticker = Event(), _Ticker()
    publisher = Publisher(fleet, settings, timeline, qos=qos, rate=rate, on_trouble=say)
    tell_faults(fleet, zone)
    began = time.monotonic()
    with stop_on_signals(stop.set):
        progress = publisher.run(stop, ticker, lambda: announce(settings.home, "simulate"))
    ticker.clear()
    _summarise(progress, time.monotonic() - began, as_json=as_json)
    if progress.open and not stop.is_set():
        raise typer.Exit(1)


def _start_ms(
    start: str | None, history: str | None, speed: float | None, zone: str, now_ms: int
) -> int | None:
    from strom.cli.times import duration, moment
    from strom.errors import StromError

    if start is not None and history is not None:
        raise StromError("--from and --history both say where the past begins; give one of them.")
    if start is not None:
        return moment(start, zone)
    if history is None and speed is not None:
        history = "1d"  # time that runs fast needs a past to run through
    return None if history is None else now_ms - duration(history)


def tell_faults(fleet: "Fleet", zone: str) -> None:
    from strom.cli.times import clock_text

    for fault in fleet.faults():
        length = f"for {fault.length_ms // 60_000} min" if fault.length_ms else "for good"
        begin = clock_text(fault.starts_ms, zone)
        say(f"{fault.kind:<9} {fault.meter:<16} from {begin} {length}: {fault.detail}")


class _Ticker:
    """Tells how the publishing goes."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._published = 0

    def __call__(self, progress: "Progress") -> None:
        self._line(lambda seconds: self._text(progress, seconds))

    def clear(self) -> None:
        self._line.clear()

    def _text(self, progress: "Progress", seconds: float) -> str:
        speed = (progress.published - self._published) / seconds
        self._published = progress.published
        return (
            f"{'live' if progress.live else 'history'}  {progress.published:,} published, {speed:,.0f}/s, "
            f"{progress.open:,} open, {progress.connected:,} connected"
        )


def _summarise(progress: "Progress", seconds: float, *, as_json: bool) -> None:
    import json

    if as_json:
        print(json.dumps(progress.as_dict() | {"seconds": round(seconds, 3)}))
        return
    print(f"{progress.published:,} messages published and confirmed in {seconds:.1f} s", end="")
    print(f", {progress.history:,} of them from the past." if progress.history else ".")
    for kind, count in sorted(progress.faults.items()):
        print(f"{count:,} while the fault {kind} was there.")
    if progress.unheard:
        print(
            f"{progress.unheard:,} reached the broker while nobody had subscribed: is `strom bridge` running?"
        )
    if progress.open:
        print(f"{progress.open:,} were never confirmed by the broker.")
