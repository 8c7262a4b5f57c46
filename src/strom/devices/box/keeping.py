"""What a box keeps over restarts, each in a file of its own that nobody else may read: certificate and token."""

import os
import secrets
from pathlib import Path

from strom.errors import StromError

MOST_TOKEN = 128


def keep(path: Path, content: bytes) -> None:
    """All of it or nothing, whenever the machine stops."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    fresh.replace(path)


def token_in(folder: Path, wished: str | None = None) -> str:
    """The wished one, else the one kept in this folder, else a new one; kept from now on."""
    path = folder / "token"
    if wished is None and path.exists():
        return path.read_text(encoding="ascii").strip()
    token = secrets.token_hex(16) if wished is None else _checked(wished)
    keep(path, f"{token}\n".encode("ascii"))
    return token


def _checked(token: str) -> str:
    plain = token.isascii() and token.isprintable() and " " not in token
    if not plain or not 0 < len(token) <= MOST_TOKEN:
        raise StromError(
            f"A token has 1 to {MOST_TOKEN} letters, digits or signs and no blanks; choose such a one."
        )
    return token
