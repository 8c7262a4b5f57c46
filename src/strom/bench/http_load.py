"""A light HTTP client for benchmarks: many keep-alive connections, each with one request under way, in a process of its own.

It sends the same bytes again and again and reads no more of an answer than its status and length, so that the server
and not the client is what is measured.
"""

import json
import select
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from strom.errors import StromError

_READ_BYTES = 1 << 18
_SILENCE_SECONDS = 30.0
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(frozen=True)
class Load:
    """`requests` are sent `count` times in turn, by so many connections at once."""

    host: str
    port: int
    requests: tuple[str, ...]
    connections: int
    count: int


def seconds_for(load: Load) -> float:
    """How long the server took for all of it; an answer other than 200 ends the benchmark."""
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StromError(f"the load could not be sent: {done.stderr.strip()[-500:]}", exit_code=1)
    return float(json.loads(done.stdout)["seconds"])


class _Line:
    """One connection: what it has got of the present answer."""

    def __init__(self, load: Load) -> None:
        self.socket = socket.create_connection((load.host, load.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = 0
        self._head = b""

    def take(self) -> bool:
        """Whether the answer is whole."""
        data = self.socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionError("the server has closed a connection")
        if self._left:
            self._left -= len(data)
            return not self._left
        self._head += data
        end = self._head.find(_END)
        if end < 0:
            return False
        if self._head[9:12] != b"200":
            raise ValueError(f"the server answers {self._head[:600].decode('latin-1')}")
        begin = self._head.index(_LENGTH) + len(_LENGTH)
        length = int(self._head[begin : self._head.index(b"\r", begin)])
        self._left = end + len(_END) + length - len(self._head)
        self._head = b""
        return not self._left


def _run(load: Load) -> float:
    requests = [request.encode() for request in load.requests]
    lines = {line.socket.fileno(): line for line in (_Line(load) for _ in range(load.connections))}
    poll = select.epoll()
    for number in lines:
        poll.register(number, select.EPOLLIN)
    sent = answered = 0
    began = time.perf_counter()
    for line in lines.values():
        line.socket.sendall(requests[sent % len(requests)])
        sent += 1
    while answered < sent:
        events = poll.poll(_SILENCE_SECONDS)
        if not events:
            raise TimeoutError(f"no answer for {_SILENCE_SECONDS:g} s")
        for number, _ in events:
            line = lines[number]
            if line.take():
                answered += 1
                if sent < load.count:
                    line.socket.sendall(requests[sent % len(requests)])
                    sent += 1
    return time.perf_counter() - began


if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(json.dumps({"seconds": _run(Load(**given))}))  # noqa: T201 - the answer to whoever started it
