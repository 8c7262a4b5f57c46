"""Which boxes shall run, as one value, and how they are made of it. Whoever has it decides when they run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from strom.devices.adapter import Publisher
from strom.devices.box.box import Box, Offer
from strom.devices.box.pushes import KEPT_SECONDS, Pushes
from strom.devices.box.troubles import SLOW_SECONDS, Trouble, Troubles
from strom.devices.simulator import FaultKind, Fleet, Wish
from strom.devices.simulator.members import ANY
from strom.devices.simulator.timeline import Clock, Timeline
from strom.settings import Settings


@dataclass(frozen=True)
class Plan:
    since_ms: int  # when the boxes are switched on; faults count from here, too
    count: int = 1
    seed: int = 1
    wish: Wish = ANY
    interval_s: float = 5.0
    faults: tuple[FaultKind, ...] = ()
    offer: Offer = field(default_factory=Offer)
    token: str | None = None
    troubles: tuple[Trouble, ...] = ()
    slow_seconds: float = SLOW_SECONDS
    topic: str = "sma"

    @property
    def timeline(self) -> Timeline:
        """Live from the start on; refuses an interval that no adapter has."""
        return Timeline(interval_s=self.interval_s, start_ms=self.since_ms)

    def fleet(self) -> Fleet:
        """A new one each time: each thread needs its own, for meters remember the day that they were asked for last."""
        return Fleet(
            self.count,
            seed=self.seed,
            faults=self.faults,
            faults_from_ms=self.since_ms,
            topic=self.topic,
            wish=self.wish,
        )

    def boxes(self, home: Path, clock: Clock) -> list[Box]:
        """Each keeps what it must in a folder of its own in the home."""
        return [
            Box(
                Pushes(adapter, self.timeline.interval_s, clock, self.since_ms),
                home / "adapters" / adapter.client_id,
                self.offer.beside(index),
                token=self.token,
                troubles=Troubles(self.troubles, self.slow_seconds),
            )
            for index, adapter in enumerate(self.fleet().adapters)
        ]

    def publisher(self, settings: Settings, clock: Clock, on_trouble: Callable[[str], None]) -> Publisher:
        """The MQTT side of all boxes; like them it keeps nothing for longer than a minute."""
        return Publisher(
            self.fleet(), settings, self.timeline, keep_s=KEPT_SECONDS, clock=clock, on_trouble=on_trouble
        )
