"""The simulated adapters at work: publishes what a fleet says over MQTT and counts what the broker confirmed.

One thread, one connection per adapter up to a limit. It knows when to send, but not what a payload says.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import Event

from strom.devices.adapter_line import Line, Message, Receipt
from strom.devices.adapter_switchboard import Switchboard
from strom.devices.clock import system_ms
from strom.devices.simulator import FaultKind, Fleet, Push
from strom.devices.simulator.timeline import Clock, Due, Timeline
from strom.errors import StromError
from strom.mqtt.errors import MqttError
from strom.mqtt.transport import Endpoint, tls_context
from strom.open_files import allow_sockets
from strom.settings import Settings

MOST_CONNECTIONS = 1000
MOST_OPEN = 20_000  # messages waiting or under way; then the meters' time waits too
BATCH = 500  # messages taken up between two looks at the sockets
LOOK_SECONDS = 0.1  # how soon a stop is noticed
TICK_SECONDS = 1.0
STOP_SECONDS = 5.0  # after a stop, for confirmations still under way
STUCK_SECONDS = 30.0  # after the last message, without any confirmation


@dataclass
class Progress:
    """Live figures; another thread may read them at any time."""

    published: int = 0  # confirmed by the broker
    history: int = 0  # of these, sent later than they happened
    open: int = 0  # waiting or under way
    connected: int = 0
    reconnects: int = 0
    unheard: int = 0  # confirmed, but nobody had subscribed
    malformed: int = 0  # of the published, what cannot become a reading
    forgotten: int = 0  # given up, because adapters keep nothing for longer
    faults: Counter[FaultKind] = field(default_factory=Counter)  # published while the fault was there
    live: bool = False  # history is through
    simulated_ms: int = 0  # how far the meters' time has come
    finished: bool = False  # everything that was due has been published

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"faults": dict(sorted(self.faults.items()))}


def _ignore(_: object) -> None:
    pass


class Publisher:
    """Runs a fleet along a timeline until that ends or it is told to stop.

    Nothing unconfirmed is forgotten, unless `keep_s` says after how long: a real adapter has little memory.
    """

    def __init__(
        self,
        fleet: Fleet,
        settings: Settings,
        timeline: Timeline,
        *,
        qos: int = 1,
        rate: float | None = None,
        connections: int = MOST_CONNECTIONS,
        keep_s: float | None = None,
        clock: Clock = system_ms,
        on_trouble: Callable[[str], None] = _ignore,
        on_confirmed: Callable[[Message], None] = _ignore,
    ) -> None:
        self.progress = Progress()
        self._on_confirmed = on_confirmed
        self._rate = rate
        self._clock = clock
        self._keep_s = keep_s
        self._started = self._moved = self._ticked = time.monotonic()
        self._ending: float | None = None  # since when only confirmations are waited for
        self._taken = 0
        self._due = timeline.pushes(fleet, clock)
        self._ahead: Due | None = None  # taken from the timeline, not yet due
        self._exhausted = False
        lines = _lines(fleet, Endpoint.of(settings), qos, connections)
        allow_sockets(len(lines))
        self._line_of = {
            adapter.client_id: lines[index % len(lines)] for index, adapter in enumerate(fleet.adapters)
        }
        self._switchboard = Switchboard(lines, self._confirmed, on_trouble)

    def run(
        self,
        stop: Event,
        on_progress: Callable[[Progress], None] = _ignore,
        on_ready: Callable[[], None] | None = None,
    ) -> Progress:
        """Publish until the timeline ends or `stop` is set; then wait for what is under way."""
        self._started = self._moved = self._ticked = time.monotonic()
        try:
            while self._goes_on(stop):
                self._round(stop)
                on_progress(self.progress)
                if on_ready is not None and self.progress.connected:
                    on_ready()
                    on_ready = None
        finally:
            self._switchboard.hang_up(time.monotonic())
        self.progress.finished = self._exhausted and not self.progress.open
        return self.progress

    def _round(self, stop: Event) -> None:
        now, board, progress = time.monotonic(), self._switchboard, self.progress
        before = progress.published
        board.listen(LOOK_SECONDS if stop.is_set() else self._take_up(now), now)
        if now - self._ticked > TICK_SECONDS:
            board.tick(now)
            self._ticked = now
            self._forget_old()
        if progress.published != before:
            self._moved = now
        progress.connected, progress.reconnects = board.connected, board.reconnects

    def _goes_on(self, stop: Event) -> bool:
        """Until all is confirmed after the end; after a stop, or without any answer, only for a while."""
        if not (stop.is_set() or self._exhausted):
            self._ending = None
            return True
        now = time.monotonic()
        self._ending = self._ending or now
        if stop.is_set() and not self.progress.connected:
            return False
        patience = STOP_SECONDS if stop.is_set() else STUCK_SECONDS
        left = self.progress.open > 0 or self._switchboard.unsent
        return left and now - max(self._moved, self._ending) < patience

    def _take_up(self, now: float) -> float:
        """Hand over what is due; returns for how many seconds nothing more will be."""
        clock_ms = self._clock()
        touched: dict[Line, None] = {}  # in the order of their messages
        pause = 0.0
        for _ in range(BATCH):
            if self._held_back(now):
                pause = LOOK_SECONDS / 10
                break
            due = self._ahead or next(self._due, None)
            self._ahead = due
            if due is None:
                self._exhausted, pause = True, LOOK_SECONDS
                break
            if due.at_ms > clock_ms:
                pause = min(LOOK_SECONDS, (due.at_ms - clock_ms) / 1000)
                break
            self._ahead = None
            touched[self._hand_over(due, str(clock_ms))] = None
        self._switchboard.serve(touched, now)
        return pause

    def _held_back(self, now: float) -> bool:
        too_fast = self._rate is not None and self._taken >= (now - self._started) * self._rate
        return too_fast or self.progress.open >= MOST_OPEN

    def _forget_old(self) -> None:
        if self._keep_s is None:
            return
        limit = self._clock() - round(self._keep_s * 1000)
        forgotten = sum(line.forget_before(limit) for line in self._line_of.values())
        self.progress.forgotten += forgotten
        self.progress.open -= forgotten

    def _hand_over(self, due: Due, stamp: str) -> Line:
        push = due.push
        line = self._line_of[push.adapter.client_id]
        history = due.at_ms != push.publish_ms
        line.waiting.append(Message(push.topic, push.payload, stamp, _fault_of(push), history))
        self._taken += 1
        self.progress.open += 1
        self.progress.simulated_ms = push.publish_ms
        self.progress.live = not history
        return line

    def _confirmed(self, receipt: Receipt) -> None:
        progress, message = self.progress, receipt.message
        self._on_confirmed(message)
        progress.published += 1
        progress.open -= 1
        progress.history += message.history
        progress.unheard += not receipt.heard
        if message.fault is not None:
            progress.faults[message.fault] += 1
            progress.malformed += message.fault is FaultKind.MALFORMED


def _fault_of(push: Push) -> FaultKind | None:
    """What is wrong with this message itself: a box that spoils some pushes sends good ones between."""
    if not push.adapter.faults:
        return None
    fault = push.adapter.fault_at(push.publish_ms)
    if fault is None or (fault.kind is FaultKind.MALFORMED and not push.adapter.spoils(push.publish_ms)):
        return None
    return fault.kind


def _lines(fleet: Fleet, endpoint: Endpoint, qos: int, connections: int) -> list[Line]:
    """A line for each adapter; beyond the limit the first ones carry the others' messages too."""
    if qos not in (0, 1):
        raise StromError(f"QoS {qos} is not what adapters send with; choose 0 or 1.")
    try:
        context = tls_context(endpoint)
    except MqttError as error:
        raise StromError(f"{error}; correct mqtt.ca_file.") from None
    return [
        Line(adapter.client_id, endpoint, context, qos) for adapter in fleet.adapters[: max(1, connections)]
    ]
