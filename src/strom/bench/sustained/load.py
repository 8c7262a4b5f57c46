"""The load: many meters that send at a steady rate, from a process of its own that costs as little as possible.

Each meter has its turn once in an interval. Packets are made beforehand and leave in bursts of some milliseconds; a
meter's packet id is its own, for its message is confirmed long before its next one. It knows nothing of what becomes of the
messages.
"""

import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import SimpleQueue
from multiprocessing.sharedctypes import Synchronized

import mqtt5

from strom.bench.bridge.flood import PROCESSES, shared_count
from strom.bench.sustained.messages import Block
from strom.errors import StromError
from strom.mqtt.packets import Session, connect_packet, split
from strom.mqtt.transport import Endpoint

CONNECTIONS = 8
BURST_SECONDS = 0.01
MOST_IN_BURST = 200
ANSWER_SECONDS = 60.0
_READ_BYTES = 64 * 1024
_LOOK_SECONDS = 0.2  # how soon a stop is noticed
_FAILURE = 0x80  # reason codes from here on mean that the broker has not taken the message


@dataclass(frozen=True)
class Load:
    endpoint: Endpoint
    topic: str
    rate: int  # messages a second, of all meters together
    meters: int

    @property
    def interval_s(self) -> float:
        return self.meters / self.rate

    @property
    def burst(self) -> int:
        return max(1, min(round(self.rate * BURST_SECONDS), MOST_IN_BURST, self.meters // CONNECTIONS))


@dataclass(frozen=True)
class Counts:
    """What the load tells of itself while it runs."""

    sent: "Synchronized[int]" = field(default_factory=shared_count)
    confirmed: "Synchronized[int]" = field(default_factory=shared_count)
    unheard: "Synchronized[int]" = field(default_factory=shared_count)  # confirmed, but nobody had subscribed
    late_ms: "Synchronized[int]" = field(
        default_factory=shared_count
    )  # most that a burst left after its time
    began_ms: "Synchronized[int]" = field(default_factory=shared_count)  # 0: not connected yet
    last_round_ms: "Synchronized[int]" = field(
        default_factory=shared_count
    )  # each meter's last message is no older
    stopping: "Synchronized[int]" = field(default_factory=shared_count)


class LoadProcess:
    """Publishes from `loading` on until it is stopped."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.counts = Counts()
        self._errors: SimpleQueue[str] = PROCESSES.SimpleQueue()
        self._process = PROCESSES.Process(
            target=_publish, args=(load, self.counts, self._errors), daemon=True
        )

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def check(self) -> None:
        """Raise why it ended, if it has ended by itself."""
        if not self.counts.stopping.value and not self._process.is_alive():
            reason = self._errors.get() if not self._errors.empty() else f"code {self._process.exitcode}"
            raise StromError(f"the load generator ended: {reason}.", exit_code=1)

    def stop(self) -> None:
        """Return when no more will be sent, and what was sent is confirmed."""
        self.counts.stopping.value = 1
        self._process.join(ANSWER_SECONDS)

    def _start(self) -> None:
        self._process.start()
        while not self.counts.began_ms.value:
            self.check()
            time.sleep(BURST_SECONDS)

    def _end(self) -> None:
        self._process.terminate()
        self._process.join()


@contextmanager
def loading(load: Load) -> Iterator[LoadProcess]:
    """It sends already when the block begins."""
    process = LoadProcess(load)
    try:
        process._start()
        yield process
    finally:
        process._end()


def _publish(load: Load, counts: Counts, errors: "SimpleQueue[str]") -> None:
    """What the child process does; Ctrl-C is its parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _Publisher(load, counts).run()
    except (OSError, StromError) as error:
        errors.put(str(error))
        raise SystemExit(1) from None


class _Publisher:
    def __init__(self, load: Load, counts: Counts) -> None:
        self._counts = counts
        self._lines = [_Line(load.endpoint, f"bench-load-{number}") for number in range(CONNECTIONS)]
        self._turns = [
            (self._lines[number % CONNECTIONS], block) for number, block in enumerate(blocks(load))
        ]
        for line, block in self._turns:
            line.meters += block.size
        self._per_message_s = 1 / load.rate
        self._stamps = [0] * len(self._turns)
        self._poll = select.poll()
        self._by_handle = {line.socket.fileno(): line for line in self._lines}
        for handle in self._by_handle:
            self._poll.register(handle, select.POLLIN)

    def run(self) -> None:
        counts = self._counts
        due = time.monotonic()
        counts.began_ms.value = _now_ms()
        turn = 0
        while not counts.stopping.value:
            line, block = self._turns[turn]
            pause = due - time.monotonic()
            if pause > 0:
                # Confirmations come one by one: whoever waits for them wakes up for each.
                self._take_confirmations(0)
                time.sleep(min(pause, _LOOK_SECONDS))
                continue
            if line.unconfirmed + block.size > line.meters:
                self._take_confirmations(BURST_SECONDS)
                continue
            counts.late_ms.value = max(counts.late_ms.value, round(-pause * 1000))
            self._stamps[turn] = now_ms = _now_ms()
            line.send(block.stamp(now_ms), block.size)
            counts.sent.value += block.size
            due += block.size * self._per_message_s
            turn = (turn + 1) % len(self._turns)
        counts.last_round_ms.value = min((stamp for stamp in self._stamps if stamp), default=0)
        self._await_confirmations()
        for line in self._lines:
            line.close()

    def _await_confirmations(self) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while self._counts.confirmed.value < self._counts.sent.value and time.monotonic() < deadline:
            self._take_confirmations(_LOOK_SECONDS)

    def _take_confirmations(self, seconds: float) -> None:
        for handle, _ in self._poll.poll(seconds * 1000):
            confirmed, unheard = self._by_handle[handle].take()
            self._counts.confirmed.value += confirmed
            self._counts.unheard.value += unheard


def blocks(load: Load) -> Iterator[Block]:
    """All meters, in the order of their turns; packet ids are counted on each connection from 1."""
    used = [0] * CONNECTIONS
    for number, begin in enumerate(range(0, load.meters, load.burst)):
        meters = range(begin, min(begin + load.burst, load.meters))
        line = number % CONNECTIONS
        first = used[line] + 1
        used[line] += len(meters)
        yield Block(load.topic, meters, range(first, first + len(meters)), load.interval_s)


class _Line:
    """One connection; sending blocks, for the broker is the one to wait for."""

    def __init__(self, endpoint: Endpoint, client_id: str) -> None:
        self.meters = 0
        self.unconfirmed = 0
        self.socket = socket.create_connection((endpoint.host, endpoint.port), timeout=ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = b""
        self.socket.sendall(connect_packet(endpoint, Session(client_id, keep_alive=0)))
        self.take()

    def send(self, data: bytearray, count: int) -> None:
        self.socket.sendall(data)
        self.unconfirmed += count

    def take(self) -> tuple[int, int]:
        """How many messages the broker has confirmed, and how many of these nobody had subscribed."""
        data = self.socket.recv(_READ_BYTES)
        if not data:
            raise StromError("Mosquitto closed the connection", exit_code=1)
        found, self._unread = confirmations(self._unread + data)
        self.unconfirmed -= found[0]
        return found

    def close(self) -> None:
        self.socket.sendall(mqtt5.DisconnectPacket().write())
        self.socket.close()


def confirmations(data: bytes) -> tuple[tuple[int, int], bytes]:
    """How many messages these bytes confirm, how many of them unheard, and what is left of an unfinished packet."""
    count, rest = divmod(len(data), 4)
    if not rest and data[::4] == b"\x40" * count and data[1::4] == b"\x02" * count:
        return (count, 0), b""  # nothing but the shortest PUBACK: the codec would cost more than the message
    packets: list[mqtt5.Packet] = []
    used = split(memoryview(data), packets)
    pubacks = [packet for packet in packets if isinstance(packet, mqtt5.PubAckPacket)]
    refused = [packet for packet in pubacks if packet.reason_code.value >= _FAILURE]
    if refused:
        raise StromError(f"Mosquitto refused a message: {refused[0].reason_code.name.lower()}", exit_code=1)
    unheard = sum(packet.reason_code is mqtt5.PubAckReasonCode.NO_MATCHING_SUBSCRIBERS for packet in pubacks)
    return (len(pubacks), unheard), data[used:]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
