"""Tells a new push from one that was seen before: between two pushes an adapter answers with the last one again.

Only the device's uptime differs between two answers with the same push, so all else is compared. A meter that changes
nothing still gives its registers new times; where it gives none, only the box's own memory tells: it keeps a push for
60 s, so what it says after that is a new one.
"""

import hashlib
import re

KEPT_SECONDS = 60.0  # by the adapter
_UPTIME = re.compile(rb'"sma_time"\s*+:\s*+[-+.0-9eE]++')
_TIME = re.compile(rb'"time"\s*+:\s*+"?[1-9]')


class Repeats:
    """Of one adapter."""

    def __init__(self) -> None:
        self._last = b""
        self._since = 0.0

    def is_new(self, payload: bytes, now: float) -> bool:
        """Whether to send it; the next one is compared to it then."""
        digest = hashlib.blake2b(_UPTIME.sub(b"", payload, count=1), digest_size=16).digest()
        timeless = _TIME.search(payload) is None
        if digest == self._last and not (timeless and now - self._since >= KEPT_SECONDS):
            return False
        self._last, self._since = digest, now
        return True
