"""One HTTP/1.1 request as the box reads it: a head without a body. It knows neither paths nor tokens."""

from dataclasses import dataclass, field

import httptools


class BadRequestError(Exception):
    """What came is no request that the box takes."""


@dataclass
class Request:
    method: str = ""
    url: bytes = b""
    keep_alive: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.url.split(b"?", 1)[0].decode("latin-1")


def read_head(head: bytes) -> Request:
    """The request in a head that ends with its empty line; BadRequestError if it is none, or brings a body."""
    reading = _Reading()
    try:
        reading.parser.feed_data(head)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
        raise BadRequestError(f"this is no request: {error}") from None
    request = reading.request
    if not request.method:
        raise BadRequestError("this is no request")
    if "transfer-encoding" in request.headers or request.headers.get("content-length", "0").strip() != "0":
        raise BadRequestError("a body is not taken")
    return request


class _Reading:
    """What the parser tells as it goes through the head."""

    def __init__(self) -> None:
        self.request = Request()
        self.parser = httptools.HttpRequestParser(self)

    def on_url(self, url: bytes) -> None:
        self.request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.request.method = self.parser.get_method().decode("ascii")
        self.request.keep_alive = self.parser.should_keep_alive()
