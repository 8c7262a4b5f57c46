"""All lines of the simulated adapters in one selector: connects them, serves them, brings broken ones back.

It knows sockets and lines, but neither meters nor what is due when.
"""

import heapq
import selectors
from collections.abc import Callable, Iterable, Sequence

from strom.devices.adapter_line import Line, MessageRefusedError, Receipt
from strom.errors import StromError
from strom.mqtt.errors import ConnectRefusedError, MqttError, SessionTakenOverError

SUSPICIOUS = 4  # short lives in a row: a broker that restarts refuses connections in between
_DOUBLE = ": if a second simulation is running, give one of them another --seed"
MOST_CONNECTING = 64  # at once: a broker's listen queue is short


class Switchboard:
    """Give it lines with messages; it calls `on_receipt` for each that the broker has confirmed."""

    def __init__(
        self, lines: Sequence[Line], on_receipt: Callable[[Receipt], None], on_trouble: Callable[[str], None]
    ) -> None:
        self.reconnects = 0
        self._lines = lines
        self._on_receipt = on_receipt
        self._on_trouble = on_trouble
        self._selector = selectors.DefaultSelector()
        self._connecting: set[Line] = set()
        self._up: set[Line] = set()
        self._calls = [(0.0, number, line) for number, line in enumerate(lines)]  # when to connect which line
        self._complained = False

    @property
    def connected(self) -> int:
        return len(self._up)

    def serve(self, lines: Iterable[Line], now: float) -> None:
        """Send what these lines have waiting."""
        for line in lines:
            self._serve(line, now, readable=False)

    def listen(self, seconds: float, now: float) -> None:
        """Connect whom it is time for, wait at most so long for the broker and take what it says."""
        while self._calls and self._calls[0][0] <= now and len(self._connecting) < MOST_CONNECTING:
            _, _, line = heapq.heappop(self._calls)
            self._connect(line, now)
        for key, _ in self._selector.select(seconds):
            self._serve(key.data, now, readable=True)

    def tick(self, now: float) -> None:
        """Keep idle lines alive and find those whose broker has gone."""
        for line in self._lines:
            if line.connection is not None:
                try:
                    line.connection.tick(now)
                except MqttError as error:
                    self._lost(line, error, now)
                else:
                    self._watch(line)

    @property
    def unsent(self) -> bool:
        return any(line.unsent for line in self._lines)

    def hang_up(self, now: float) -> None:
        for line in self._lines:
            self._forget(line)
            line.hang_up(now)
        self._selector.close()

    def _connect(self, line: Line, now: float) -> None:
        try:
            line.connect(now)
        except MqttError as error:
            self._lost(line, error, now)
        else:
            self._connecting.add(line)
            self._watch(line)

    def _serve(self, line: Line, now: float, *, readable: bool) -> None:
        was_connected = line.connected
        try:
            if readable:
                for receipt in line.handle(now):
                    self._on_receipt(receipt)
            if line.connected and not was_connected:
                self._welcomed(line)
            for receipt in line.pump(now):
                self._on_receipt(receipt)
        except MqttError as error:
            self._lost(line, error, now)
        else:
            self._watch(line)

    def _welcomed(self, line: Line) -> None:
        self._connecting.discard(line)
        self._up.add(line)
        self.reconnects += line.welcomes > 1
        if self._complained:
            self._complained = False
            self._on_trouble(f"connected to {line.endpoint} again")

    def _lost(self, line: Line, error: MqttError, now: float) -> None:
        _give_up_if_hopeless(line, error)
        if line.short_lived(now) == SUSPICIOUS:
            self._on_trouble(f"the broker keeps closing the connection of {line.client_id}{_DOUBLE}")
        self._up.discard(line)
        self._connecting.discard(line)
        self._forget(line)
        line.drop()
        heapq.heappush(self._calls, (now + line.backoff.next(), id(line), line))
        if not self.connected and not self._complained:
            self._complained = True
            self._on_trouble(f"{error}; trying again until it answers")

    def _watch(self, line: Line) -> None:
        """Ask the selector for what the line needs at this moment."""
        if line.connection is None:
            return
        events = line.connection.events
        if not line.registered:
            self._selector.register(line.connection, events, line)
        elif events != line.registered:
            self._selector.modify(line.connection, events, line)
        line.registered = events

    def _forget(self, line: Line) -> None:
        if line.registered and line.connection is not None:
            self._selector.unregister(line.connection)
        line.registered = 0


def _give_up_if_hopeless(line: Line, error: MqttError) -> None:
    """Some answers stay the same until a person changes something."""
    if isinstance(error, ConnectRefusedError) and error.permanent:
        raise StromError(f"The MQTT broker at {error}; correct mqtt.username and mqtt.password.") from None
    if isinstance(error, MessageRefusedError):
        raise StromError(
            f"The MQTT broker at {error}; allow the adapters to publish on their topic."
        ) from None
    if isinstance(error, SessionTakenOverError):
        raise StromError(f"Another client uses the client id {line.client_id}{_DOUBLE}.") from None
