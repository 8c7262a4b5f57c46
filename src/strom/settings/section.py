"""What all sections of settings have in common, and which settings are secret."""

from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

HIDDEN = "…"
_SECRETS = ("password", "secret", "token")


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def shown(name: str, value: Any) -> Any:
    """The value of a setting as it may stand in a terminal or a log: a secret is hidden, of a URL the host stays."""
    if value is None:
        return None
    if name in _SECRETS:
        return HIDDEN
    return shown_url(str(value)) if name == "url" else value


def shown_url(url: str) -> str:
    """Without user, password, path and query: any of them may be what lets one in."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    if not parts.scheme or not host:
        return HIDDEN
    bare = parts.path in ("", "/") and not parts.query and host == parts.netloc
    return f"{parts.scheme}://{host}" if bare else f"{parts.scheme}://{host}/{HIDDEN}"
