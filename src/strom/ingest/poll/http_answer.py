"""One HTTP/1.1 answer, read strictly as its bytes come in; it knows neither sockets nor what the answer is for."""

import httptools

from strom.ingest.poll.trouble import Kind, Trouble

MAX_BODY = 1_000_000  # a push has some thousand bytes
MAX_HEAD = 64 * 1024
_FRAMING = (b"content-length", b"transfer-encoding")


class HttpAnswer:
    """Feed it until `complete`; Trouble as soon as it cannot become an answer."""

    def __init__(self) -> None:
        self.status = 0
        self.complete = False
        self.begun = False
        self.reusable = False  # whether the connection may carry another request
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._head = 0
        self._in_body = False
        self._framed = False  # tells how long it is; else it goes on until the connection ends

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def feed(self, data: bytes) -> None:
        self.begun = True
        if not self._in_body:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.reusable = False
            if not self.complete:
                raise Trouble(Kind.GARBAGE, "its answer is not HTTP") from None
        if len(self._body) > MAX_BODY or (not self._in_body and self._head > MAX_HEAD):
            raise Trouble(Kind.GARBAGE, f"its answer is longer than {MAX_BODY:,} bytes")

    def end(self) -> None:
        """The connection is over: that may be the end of the answer, or cut it short."""
        if self._in_body and not self._framed:
            self.complete = True
        elif not self.complete:
            raise Trouble(Kind.CONNECTION, "cut its answer short")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._framed = self._framed or name.lower() in _FRAMING

    def on_headers_complete(self) -> None:
        if not self.complete:
            self.status, self._in_body = self._parser.get_status_code(), True

    def on_body(self, data: bytes) -> None:
        if not self.complete:
            self._body += data

    def on_message_begin(self) -> None:
        if self.complete:  # more than was asked for: whose answer would the next one be?
            self.reusable = False

    def on_message_complete(self) -> None:
        if self.complete:
            return
        if self.status < 200:  # an answer for the meantime
            self._in_body = self._framed = False
            return
        self.complete, self.reusable = True, self._parser.should_keep_alive()
