"""Writes users into `strom.toml` and takes them out again, and leaves everything else in it as it stands.

It works on the text, since a parser would lose comments and order; what comes out is read again and compared, and
refused if anything but that one user would change.
"""

import os
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from strom.errors import StromError
from strom.settings.gateway import USER_PATTERN, UserSettings
from strom.settings.load import FILE_NAME

_TABLE = re.compile(r"\s*\[")
_KEY = re.compile(r"\s*\[\s*users\s*\.\s*(?:\"([^\"\\]+)\"|'([^']+)'|([A-Za-z0-9_-]+))\s*\]\s*(?:#.*)?")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NEW_FILE_MODE = 0o600


class UsersFile:
    def __init__(self, folder: Path | None = None) -> None:
        self._path = ((folder or Path.cwd()) / FILE_NAME).resolve()

    def check(self, name: str, *, replace: bool) -> None:
        """Refuse a name that cannot be put."""
        if re.fullmatch(USER_PATTERN, name) is None:
            raise StromError(
                f"{name!r} cannot be the name of a user: use up to 64 letters, digits and . _ @ + -, a letter or digit first."
            )
        if name in _users(self._read()) and not replace:
            raise StromError(f"{name} is a user already; --replace changes the password, topics and rights.")

    def put(self, name: str, user: UserSettings, *, replace: bool) -> None:
        """Add a user, or change one that is there."""
        self.check(name, replace=replace)
        before = self._read()
        known = _users(before)
        lines = before.splitlines(keepends=True)
        block = _block(name, user)
        found = _span(lines, name)
        if found is None:
            after = _joined(before, block)
        else:
            begin, end = found
            after = "".join([*lines[:begin], block, *lines[end:]])
        self._write(before, after, known | {name: user.model_dump()})

    def remove(self, name: str) -> None:
        before = self._read()
        known = _users(before)
        if name not in known:
            raise StromError(
                f"There is no user {name} in {FILE_NAME}; `strom users list` shows those there are."
            )
        lines = before.splitlines(keepends=True)
        begin, end = _span(lines, name) or (0, 0)
        while end < len(lines) and not lines[end].strip():  # the gap that followed goes with it
            end += 1
        while (
            end == len(lines) and begin and not lines[begin - 1].strip()
        ):  # or the one before it, at the end
            begin -= 1
        after = "".join([*lines[:begin], *lines[end:]])
        self._write(before, after, {each: user for each, user in known.items() if each != name})

    def _read(self) -> str:
        try:
            return self._path.read_bytes().decode()  # with its line ends as they are
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise StromError(f"{self._path} cannot be read ({error}); correct that first.") from None

    def _write(self, before: str, after: str, users: dict[str, Any]) -> None:
        """At once or not at all, and only if nothing but the users has changed."""
        rest_before, rest_after = _parsed(before), _parsed_or_none(after)
        rest_before.pop("users", None)
        if rest_after is None or rest_after.pop("users", {}) != users or rest_after != rest_before:
            raise StromError(
                f"The users in {FILE_NAME} are written in a way that cannot be changed safely; "
                "write each as a table [users.NAME] of its own, then try again."
            )
        try:
            if self._read() != before:
                raise StromError(f"{FILE_NAME} has changed meanwhile; try again.")
            self._replace(after)
        except OSError as error:
            raise StromError(f"{self._path} cannot be written ({error}); make it writable.") from None

    def _replace(self, text: str) -> None:
        handle, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=self._path.parent)
        fresh = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if self._path.exists():
                state = self._path.stat()
                fresh.chmod(state.st_mode & 0o7777)
                if hasattr(os, "chown") and (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
                    os.chown(fresh, state.st_uid, state.st_gid)
            else:
                fresh.chmod(_NEW_FILE_MODE)
            fresh.replace(self._path)
        finally:
            fresh.unlink(missing_ok=True)


def _users(text: str) -> dict[str, Any]:
    found = _parsed(text).get("users", {})
    return dict(found) if isinstance(found, dict) else {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StromError(f"{FILE_NAME} is not valid TOML: {error}; correct that line.") from None


def _parsed_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _span(lines: list[str], name: str) -> tuple[int, int] | None:
    """The lines of a user's table: from its head to its last setting. What stands above the next head is that one's."""
    begin = next((number for number, line in enumerate(lines) if _named(line) == name), None)
    if begin is None:
        return None
    end = next((number for number in range(begin + 1, len(lines)) if _TABLE.match(lines[number])), len(lines))
    while end > begin + 1 and _is_blank_or_comment(lines[end - 1]):
        end -= 1
    return begin, end


def _named(line: str) -> str | None:
    found = _KEY.fullmatch(line.rstrip("\r\n"))
    return None if found is None else next(each for each in found.groups() if each is not None)


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _block(name: str, user: UserSettings) -> str:
    key = name if _BARE.fullmatch(name) else f'"{name}"'
    topics = ", ".join(f'"{topic}"' for topic in user.topics)
    return f'[users.{key}]\npassword = "{user.password}"\ntopics = [{topics}]\nrights = "{user.rights}"\n'


def _joined(before: str, block: str) -> str:
    if not before.strip():
        return before + block
    gap = "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}{block}"
