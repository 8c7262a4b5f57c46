"""A box to try programs against: on free ports, in a thread, by a clock that stands until it is moved.

The tests of the pollers use it, and anybody may.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

from strom.devices.adapter import Progress, Publisher
from strom.devices.box.box import Box, Offer
from strom.devices.box.plan import Plan
from strom.devices.box.pushes import LastPush
from strom.devices.box.serving import serving
from strom.devices.box.troubles import SLOW_SECONDS, Trouble
from strom.devices.clock import HeldClock
from strom.devices.simulator import FaultKind, Fleet, Wish
from strom.devices.simulator.dialects import dialect_named
from strom.devices.simulator.fleet import rhythm
from strom.devices.simulator.premises import Kind
from strom.settings import Settings

SOME_EVENING_MS = 1_763_145_000_000  # 2025-11-14, 19:30 in Vienna: no sun, and every household draws power
STOP_SECONDS = 30.0


class RunningBox:
    """The box as its owner sees it."""

    def __init__(self, box: Box, clock: HeldClock, progress: Progress) -> None:
        self.box = box
        self.clock = clock
        self.progress = progress  # of MQTT
        self.host = box.offer.host
        self.token = box.token

    @property
    def rest_port(self) -> int:
        return self.box.ports["rest"]

    @property
    def modbus_port(self) -> int:
        return self.box.ports["modbus"]

    @property
    def fingerprint(self) -> str:
        return self.box.certificate.fingerprint

    @property
    def certificate_file(self) -> Path:
        """Key and certificate; whoever trusts it as an authority trusts the box."""
        return self.box.certificate.path

    def last(self) -> LastPush | None:
        return self.box.pushes.last()

    def last_payload(self) -> bytes | None:
        last = self.last()
        return None if last is None else last.payload

    def push(self) -> None:
        """Move the clock to the next push, whether the meter is silent then or not."""
        rhythm = self.box.pushes.rhythm
        self.clock.now_ms = rhythm.latest(self.clock.now_ms) + rhythm.step_ms

    def have(self, *troubles: Trouble) -> None:
        """From now on these troubles, or none."""
        self.box.troubles.kinds = frozenset(troubles)

    def renew_certificate(self) -> None:
        """As after a factory reset: whoever has pinned the old one does not know this box."""
        self.certificate_file.unlink()


@contextmanager
def running_box(
    home: Path,
    *,
    kind: Kind = Kind.HOUSEHOLD,
    dialect: str = "standard",
    name: str = "box",
    seed: int = 1,
    interval_s: float = 5.0,
    at_ms: int = SOME_EVENING_MS,
    faults: Iterable[FaultKind] = (),
    troubles: Iterable[Trouble] = (),
    slow_seconds: float = SLOW_SECONDS,
    token: str | None = None,
    rest: bool = True,
    modbus: bool = True,
    mqtt: Settings | None = None,
) -> Iterator[RunningBox]:
    """A box that has pushed at this very moment, at about `at_ms`; with `mqtt` it publishes to that broker, too."""
    wish = Wish(kind, dialect_named(dialect), name)
    [adapter] = Fleet(1, seed=seed, wish=wish).adapters
    clock = HeldClock(rhythm(adapter, round(interval_s * 1000)).latest(at_ms))
    plan = Plan(
        since_ms=clock.now_ms,
        seed=seed,
        wish=wish,
        interval_s=interval_s,
        faults=tuple(faults),
        offer=Offer("127.0.0.1", 0 if rest else None, 0 if modbus else None, mqtt is not None),
        token=token,
        troubles=tuple(troubles),
        slow_seconds=slow_seconds,
        topic="sma" if mqtt is None else mqtt.mqtt.topic,
    )
    [box] = plan.boxes(home, clock)
    with ExitStack() as running:
        running.enter_context(serving([box]))
        progress = Progress()
        if mqtt is not None:
            publisher = plan.publisher(mqtt, clock, lambda _: None)
            progress = publisher.progress
            running.enter_context(_publishing(publisher))
        yield RunningBox(box, clock, progress)


@contextmanager
def _publishing(publisher: Publisher) -> Iterator[None]:
    stop = Event()
    thread = Thread(target=publisher.run, args=(stop,), name="box-mqtt", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
