"""Receivers of alerts on real sockets, and alerts to send them."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from strom.domain.notices import State
from strom.domain.reading import time_text
from strom.notify.outlet import Notice
from tests import waiting

SECONDS = 120.0
until = partial(waiting.until, seconds=SECONDS)


def alert(name: str, meter: str = "haus-1", **more: Any) -> dict[str, Any]:
    """An alert of a moment ago, as the topic tells it."""
    record: dict[str, Any] = {"v": 1, "id": name, "meter": meter, "kind": "silent", "severe": False}
    record["started"] = time_text(int(time.time() * 1000) - 60_000)
    return record | {"threshold": 90, "text": f"{meter} sends nothing – is it plugged in?"} | more


def notice(name: str = "a1", state: State = State.OPENED, root: str | None = None, **more: Any) -> Notice:
    return Notice(alert(name, **more), state, datetime(2026, 11, 15, 11, tzinfo=UTC), root)


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False  # takes the request and says nothing


class Receiver:
    """An HTTP server that answers as `answers` says; after those with 200."""

    def __init__(self, choose: Callable[[Request], Answer] | None = None) -> None:
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self.released = threading.Event()
        self._choose = choose
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.answer(self, Request(self.path, headers, body))

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?token=sesam"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def keys(self) -> list[str]:
        return [request.key for request in self.requests]

    def answer(self, handler: BaseHTTPRequestHandler, request: Request) -> None:
        if self._choose is not None:
            answer = self._choose(request)
        else:
            answer = self.answers.pop(0) if self.answers else Answer()
        self.requests.append(request)
        if answer.hang:
            self.released.wait(SECONDS)
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving(choose: Callable[[Request], Answer] | None = None) -> Iterator[Receiver]:
    receiver = Receiver(choose)
    try:
        yield receiver
    finally:
        receiver.close()


class Mailbox:
    """What a mail server does with what comes; `refusals` are said to the next messages, one each."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.refusals: list[str] = []
        self.bad_recipients: tuple[str, ...] = ()

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.bad_recipients:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.refusals:
            return self.refusals.pop(0)
        content = envelope.content
        assert isinstance(content, bytes)
        parsed = message_from_bytes(content, policy=default)
        assert isinstance(parsed, EmailMessage)
        self.mails.append(parsed)
        return "250 OK"


@contextmanager
def mail_server(port: int, **options: Any) -> Iterator[Mailbox]:
    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
