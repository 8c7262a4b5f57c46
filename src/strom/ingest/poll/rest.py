"""One adapter asked by REST: which paths it answers on, and what its statuses mean.

It hands on the measurement as it came and judges nothing in it.
"""

import json
from collections.abc import Sequence
from http.client import responses
from typing import Any

from strom.ingest.poll.asking import within
from strom.ingest.poll.http_answer import HttpAnswer
from strom.ingest.poll.https_line import HttpsLine
from strom.ingest.poll.trouble import Kind, Trouble
from strom.settings import AdapterSettings

# By the datasheet, and as found in the field.
MEASUREMENT = ("/api/data/measurement.json", "/api/v1/measurement.json", "/api/v1/measurement")
STATUS = ("/api/sma/status.json", "/api/v1/status.json", "/api/v1/status")
_OK, _UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404


class RestAdapter:
    """Remembers the paths that answered."""

    def __init__(self, entry: str, adapter: AdapterSettings) -> None:
        self._adapter = adapter
        self._line = HttpsLine(entry, adapter)
        self._measurement: Sequence[str] = MEASUREMENT if adapter.path is None else (adapter.path,)
        self._status: Sequence[str] = STATUS
        self._where = f"[adapters.{entry}]"

    @property
    def expires(self) -> int:
        return self._line.expires

    async def ask(self) -> bytes:
        path, answer = await self._first(self._measurement)
        if answer.status == _NOT_FOUND:
            self._measurement = MEASUREMENT if self._adapter.path is None else (self._adapter.path,)
        self._check(answer)
        if not answer.body:
            raise Trouble(Kind.GARBAGE, "its answer is empty")
        self._measurement = (path,)
        return answer.body

    async def ask_status(self) -> dict[str, Any] | None:
        if not self._status:
            return None
        path, answer = await self._first(self._status)
        if answer.status == _NOT_FOUND:
            self._status = ()  # it has none
            return None
        self._check(answer)
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Trouble(Kind.GARBAGE, "its status is not a JSON object")
        self._status = (path,)
        return found

    async def close(self) -> None:
        self._line.close()
        await self._line.closed()

    async def _first(self, paths: Sequence[str]) -> tuple[str, HttpAnswer]:
        """The first path that is there; the last one's answer if none is."""
        for path in paths:
            answer = await within(self._adapter.timeout_seconds, self._line.get(path))
            if answer.status != _NOT_FOUND:
                break
        return path, answer

    def _check(self, answer: HttpAnswer) -> None:
        status = answer.status
        if status == _OK:
            return
        said = f"{status} {responses.get(status, '')}".rstrip()
        if status in (_UNAUTHORISED, _FORBIDDEN):
            raise Trouble(
                Kind.TOKEN,
                f"does not take the token ({said}); set the one of its web page under {self._where}",
            )
        hint = f"; name the path of its measurement under {self._where}" if status == _NOT_FOUND else ""
        raise Trouble(Kind.HTTP, f"answers {said}{hint}")
