"""A line between bridge and broker that can go dead without a word, as a router does that was unplugged, or be cut."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STEP_SECONDS = 0.1


class LineProxy:
    """Passes bytes both ways; after `go_dead` those lines that are there stay open, but nothing passes any more."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._other: dict[socket.socket, socket.socket] = {}
        self._dead: list[socket.socket] = []
        self._wanted_dead, self._is_dead = threading.Event(), threading.Event()
        self._is_cut = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_dead(self) -> None:
        """What is connected now hears nothing any more; who connects anew gets a line that works."""
        self._wanted_dead.set()
        assert self._is_dead.wait(30)

    def cut(self) -> None:
        """What is connected is closed, and so is whatever connects until `mend`."""
        self._is_cut.set()

    def mend(self) -> None:
        self._is_cut.clear()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        for each in (self._listening, *self._other, *self._dead):
            each.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            if self._wanted_dead.is_set():
                self._forget()
                self._wanted_dead.clear()
                self._is_dead.set()
            if self._is_cut.is_set():
                self._hang_up(list(self._other))
            for key, _ in self._selector.select(_STEP_SECONDS):
                assert isinstance(key.fileobj, socket.socket)
                self._pass_on(key.fileobj)

    def _forget(self) -> None:
        for each in self._other:
            self._selector.unregister(each)
            self._dead.append(each)
        self._other.clear()

    def _pass_on(self, ready: socket.socket) -> None:
        if ready is self._listening:
            here, _ = self._listening.accept()
            if self._is_cut.is_set():
                here.close()
                return
            there = socket.create_connection(self._target)
            self._other |= {here: there, there: here}
            for each in (here, there):
                self._selector.register(each, selectors.EVENT_READ)
        elif ready in self._other and not self._copied(ready, self._other[ready]):
            self._hang_up([ready, self._other[ready]])

    def _hang_up(self, lines: list[socket.socket]) -> None:
        for each in lines:
            self._selector.unregister(each)
            del self._other[each]
            each.close()

    def _copied(self, source: socket.socket, target: socket.socket) -> bool:
        try:
            data = source.recv(65536)
            target.sendall(data)
        except OSError:
            return False
        return bool(data)


@contextmanager
def proxied(target: tuple[str, int]) -> Iterator[LineProxy]:
    proxy = LineProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
