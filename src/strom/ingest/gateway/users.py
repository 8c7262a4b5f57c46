"""The users that the gateway lets in, taken anew when `strom.toml` changes, without a restart.

It follows the file only where the users come from it: those of STROM_USERS hold for as long as the process lives.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from strom.errors import StromError
from strom.ingest.gateway.rights import User
from strom.settings import FILE_NAME, Settings, UserSettings, load_settings, users_come_from_file

LOG = logging.getLogger("strom.gateway")


class Users:
    """`generation` grows when they change, so that what was learnt about the former ones is forgotten."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self.generation = 0
        self.by_name: dict[str, User] = {}
        self._folder = (folder or Path.cwd()).absolute()
        self._state = self._look()
        self._follows = users_come_from_file(settings, self._folder)
        self._take(settings.users)

    def refresh(self) -> None:
        """Look whether the file has changed; a broken one changes nothing."""
        if not self._follows or (state := self._look()) == self._state:
            return
        self._state = state
        try:
            self._take(load_settings(environment={}, folder=self._folder).users)
        except (StromError, OSError) as error:
            LOG.warning("the users stay as they are: %s", error)
            return
        LOG.info("%s has changed: %d users", FILE_NAME, len(self.by_name))

    def _take(self, users: Mapping[str, UserSettings]) -> None:
        self.by_name = {name: User(name, each) for name, each in users.items()}
        self.generation += 1

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = (self._folder / FILE_NAME).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
