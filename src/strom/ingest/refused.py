"""Keeps messages that Kafka will never take (larger than the topic allows) as files, so that none is lost."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path


def keep(
    folder: Path, value: bytes, key: bytes, headers: Iterable[tuple[str, str | bytes | None]], reason: str
) -> Path:
    """Write payload and description side by side; the same message again is the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(key + b"\0" + value).hexdigest()[:24]
    about = {
        "reason": reason,
        "key": _text(key),
        "headers": {name: _text(value) for name, value in headers},
    }
    (folder / f"{name}.json").write_text(json.dumps(about, ensure_ascii=False, indent=2), encoding="utf-8")
    path = folder / f"{name}.payload"
    path.write_bytes(value)
    return path


def _text(value: str | bytes | None) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
