"""What else the environment tells: where Java is, whether there is a display."""

import os
import sys
from pathlib import Path


def java_home() -> Path | None:
    """Where JAVA_HOME points, if it is set."""
    folder = os.environ.get("JAVA_HOME")
    return Path(folder) if folder else None


def has_display() -> bool:
    """Whether a browser could show a page here."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
