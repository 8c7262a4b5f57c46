"""One HTTP/1.1 request as the box reads it: a head without a body. It knows neither paths nor tokens."""

from dataclasses import dataclass, field

import httptools


class BadRequestError(Exception):
    """What came is no request that the box takes."""


@dataclass
class Request:
    """Filled in by the parser as it goes through the head."""

    url: bytes = b""
    method: str = ""
    keep_alive: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.url.split(b"?", 1)[0].decode("latin-1")

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")


def read_head(head: bytes) -> Request:
    """The request in a head that ends with its empty line; BadRequestError if it is none, or brings a body."""
    request = Request()
    parser = httptools.HttpRequestParser(request)
    try:
        parser.feed_data(head)
    except httptools.HttpParserError as error:
        raise BadRequestError(str(error)) from None
    if "transfer-encoding" in request.headers or request.headers.get("content-length", "0").strip() != "0":
        raise BadRequestError("a body is not taken")
    request.method = parser.get_method().decode("ascii")
    request.keep_alive = parser.should_keep_alive()
    return request
