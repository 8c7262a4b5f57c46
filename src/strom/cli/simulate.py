"""`strom simulate`: adapters that are not there, publishing as real ones would."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from strom.cli.options import HomeOption, MqttOption, settings_from

if TYPE_CHECKING:
    from strom.devices.adapter import Progress
    from strom.devices.simulator import Fleet

LINE_SECONDS, LOG_SECONDS = 0.5, 10.0  # how often progress is shown in a terminal, and in a log


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
    stop = Event()
    publisher = Publisher(fleet, settings, timeline, qos=qos, rate=rate, on_trouble=_say)
    _tell_faults(fleet, zone)
    began = time.monotonic()
    with stop_on_signals(stop.set):
        progress = publisher.run(stop, _Ticker(), lambda: announce(settings.home, "simulate"))
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


def _say(sentence: str) -> None:
    print(f"\r\033[K{sentence}" if sys.stderr.isatty() else sentence, file=sys.stderr)


def _tell_faults(fleet: "Fleet", zone: str) -> None:
    from strom.cli.times import clock_text

    for fault in fleet.faults():
        length = f"for {fault.length_ms // 60_000} min" if fault.length_ms else "for good"
        begin = clock_text(fault.starts_ms, zone)
        _say(f"{fault.kind:<9} {fault.meter:<16} from {begin} {length}: {fault.detail}")


class _Ticker:
    """Shows progress on standard error: one line that changes in a terminal, one now and then in a log."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._pause = LINE_SECONDS if self._terminal else LOG_SECONDS
        self._last = time.monotonic()
        self._published = 0

    def __call__(self, progress: "Progress") -> None:
        now = time.monotonic()
        if now - self._last < self._pause:
            return
        speed = (progress.published - self._published) / (now - self._last)
        self._last, self._published = now, progress.published
        text = (
            f"{'live' if progress.live else 'history'}  {progress.published:,} published, {speed:,.0f}/s, "
            f"{progress.open:,} open, {progress.connected:,} connected"
        )
        print(
            f"\r\033[K{text}" if self._terminal else text,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )


def _summarise(progress: "Progress", seconds: float, *, as_json: bool) -> None:
    import json

    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
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
