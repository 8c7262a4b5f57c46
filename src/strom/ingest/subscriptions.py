"""What the bridge's session asks for at MQTT, remembered beyond a restart: the broker goes on sending what was asked once.

It knows filters and no messages.
"""

import json
import logging
from urllib.parse import quote

from strom.settings import Settings

LOG = logging.getLogger("strom.bridge")


class Subscriptions:
    """The filters that are wanted now, and those that an earlier bridge of this client id wanted."""

    def __init__(self, settings: Settings, filters: list[str]) -> None:
        self.filters = filters
        self._share = settings.bridge.share
        name = quote(settings.bridge.client_id, safe="")
        self._file = settings.home / "run" / f"subscriptions-{name}.json"

    @property
    def wanted(self) -> list[str]:
        share = self._share
        return [f"$share/{share}/{pattern}" for pattern in self.filters] if share else self.filters

    def stale(self) -> list[str]:
        """What the session may still ask for though nobody wants it; it may have run without a share before."""
        before = {*self._remembered(), *(self.filters if self._share else [])}
        return sorted(before - set(self.wanted))

    def remember(self) -> None:
        """The broker has taken the subscriptions."""
        if self._remembered() == self.wanted:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self.wanted), encoding="utf-8")
        except OSError as error:
            LOG.warning(
                "%s cannot be written (%s): topics taken out later may still be read", self._file, error
            )

    def _remembered(self) -> list[str]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
