"""Alerts by HTTP: a POST of JSON, signed if there is a secret, with a key by which the receiver tells a repeat.

2xx is delivered. 4xx is refused for good, but for 408 and 429; all else is tried again. Redirects are not followed:
whoever can answer for that address must not choose where alerts and signatures go.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

from strom import __version__
from strom.errors import StromError
from strom.notify.outlet import Answer, Delivered, Later, Notice, Refused, words_of
from strom.settings import WebhookSettings, shown_url

LONGEST_PAUSE = 3600.0  # however long a receiver asks for
_TRY_AGAIN = (http.HTTPStatus.REQUEST_TIMEOUT, http.HTTPStatus.TOO_MANY_REQUESTS)
_SECRET_PREFIX = "whsec_"  # noqa: S105 - how Standard Webhooks writes a secret in base64


class Webhook:
    name = "webhook"

    def __init__(self, settings: WebhookSettings) -> None:
        self._url = _Url(settings.url or "")
        self._timeout = settings.timeout_seconds
        self._secret = None if settings.secret is None else secret_bytes(settings.secret)

    @property
    def address(self) -> str:
        return self._url.shown

    def send(self, notice: Notice) -> Answer:
        body = notice.body()
        deadline = time.monotonic() + self._timeout
        connection = self._url.connection(self._timeout)
        # A time-out of a socket begins anew with each byte; this one does not.
        timer = threading.Timer(self._timeout, _cut, [connection])
        timer.daemon = True
        timer.start()
        try:
            connection.request("POST", self._url.target, body, self._headers(notice.key, body))
            response = connection.getresponse()
            return answer_to(response.status, response.getheader("Retry-After"), time.time())
        except (OSError, http.client.HTTPException) as error:
            late = time.monotonic() >= deadline or isinstance(error, TimeoutError)
            why = f"no answer within {self._timeout:g} s" if late else words_of(error)
            return Later(f"{self.address}: {why}")
        finally:
            timer.cancel()
            connection.close()

    def rest(self) -> None:
        return

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        at = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"strom/{__version__}",
            "Idempotency-Key": key,
            "webhook-id": key,
            "webhook-timestamp": at,
        }
        if self._url.login is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(self._url.login.encode()).decode()}"
        if self._secret is not None:
            headers["webhook-signature"] = signature(self._secret, key, at, body)
        return headers


def signature(secret: bytes, key: str, at: str, body: bytes) -> str:
    """As Standard Webhooks asks for: over id, time and body, so that none of them can be exchanged."""
    made = hmac.new(secret, f"{key}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def secret_bytes(secret: str) -> bytes:
    if not secret.startswith(_SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except ValueError:  # also what is not ASCII
        raise StromError(
            f"alerts_webhook.secret begins with {_SECRET_PREFIX} but is not base64 after it; copy it again."
        ) from None


def answer_to(status: int, retry_after: str | None, now: float) -> Answer:
    """What a status means for the alert."""
    said = f"it answered {status} {http.client.responses.get(status, '')}".rstrip()
    if 200 <= status < 300:
        return Delivered()
    if 300 <= status < 400:
        return Later(f"{said}; redirects are not followed, correct alerts_webhook.url")
    if 400 <= status < 500 and status not in _TRY_AGAIN:
        return Refused(said)
    return Later(said, _pause(retry_after, now))


def _pause(retry_after: str | None, now: float) -> float | None:
    """Seconds, as a number or until a date; None where nothing that makes sense is said."""
    told = (retry_after or "").strip()
    if told.isascii() and told.isdecimal():
        seconds = float(told[:9])
    else:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def _cut(connection: http.client.HTTPConnection) -> None:
    line = connection.sock
    if isinstance(line, socket.socket):
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


class _Url:
    """The parts of the address; what may be secret in it is only ever sent to it."""

    def __init__(self, url: str) -> None:
        self.shown = shown_url(url)
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            self._host = ""
        if (
            not self._host
            or parts.scheme not in ("http", "https")
            or not (url.isascii() and url.isprintable())
        ):
            raise StromError("alerts_webhook.url is no http:// or https:// address; correct it.")
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        self.login = login if parts.username else None
        self._context = ssl.create_default_context() if parts.scheme == "https" else None

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
