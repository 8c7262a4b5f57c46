"""What goes back to a caller: an answer, or a problem that becomes one. It knows no Kafka."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Headers = list[tuple[bytes, bytes]]

_JSON = (b"content-type", b"application/json")
RETRY_SOON, RETRY_LATER = 1, 2  # seconds: when there is room again, when Kafka may be back


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Headers


def json_answer(body: bytes, status: int = 200, headers: Headers | None = None) -> Answer:
    """`body` is JSON already."""
    own = [_JSON, (b"content-length", b"%d" % len(body))]
    return Answer(status, body, own if headers is None else own + headers)


def as_json(found: Any, status: int = 200, headers: Headers | None = None) -> Answer:
    return json_answer(json.dumps(found, separators=(",", ":")).encode(), status, headers)


class Problem(Exception):  # noqa: N818 - an answer, not an error of ours
    """Ends a call with this status and one sentence."""

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        retry_after: int | None = None,
        headers: Headers | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after
        self._headers = [] if headers is None else headers
        if retry_after is not None:
            self._headers = [*self._headers, (b"retry-after", b"%d" % retry_after)]
        self.more = more or {}

    def answer(self) -> Answer:
        return as_json(
            {"error": self.sentence, "status": self.status, **self.more}, self.status, self._headers
        )


def overloaded(what: str) -> Problem:
    return Problem(429, f"{what}; try again in a moment.", retry_after=RETRY_SOON)


def kafka_away() -> Problem:
    return Problem(
        503, "Kafka does not answer, and nothing was sent; try again soon.", retry_after=RETRY_LATER
    )


class ClientGone(Exception):  # noqa: N818 - nobody is left to answer
    """The caller has closed the connection."""
