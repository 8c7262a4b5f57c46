"""E-mails as .eml files in a folder, for another program to send: written aside, then moved into `new` in one step.

A mail's file has the name of its alert and state: sent again, it takes the same place and is not there twice.
"""

import os
from pathlib import Path

from strom.notify.mail_text import Letterhead
from strom.notify.outlet import Answer, Delivered, Later, Notice, plain_key, words_of


class MailFolder:
    name = "mail"

    def __init__(self, folder: Path, letterhead: Letterhead) -> None:
        self._folder = folder
        self._letterhead = letterhead

    @property
    def address(self) -> str:
        return str(self._folder)

    def send(self, notice: Notice) -> Answer:
        name = f"{plain_key(notice.key)}.eml"
        aside, there = self._folder / "tmp" / name, self._folder / "new" / name
        try:
            for folder in (aside.parent, there.parent, self._folder / "cur"):
                folder.mkdir(parents=True, exist_ok=True)
            _write(aside, bytes(self._letterhead.message(notice)))
            aside.replace(there)
            _sync(there.parent)
        except OSError as error:
            return Later(f"{self._folder}: {words_of(error)}")
        return Delivered()

    def rest(self) -> None:
        return


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
