"""How a long-running part tells that it is ready: a file with its pid in the home's `run` folder.

Knows nothing of what the parts do; a file whose pid is not the part's own counts for nothing.
"""

import os
from pathlib import Path


def ready_file(home: Path, part: str) -> Path:
    return home / "run" / f"{part}.ready"


def announce(home: Path, part: str) -> None:
    """Tell whoever waits that this process, the part's own, has had a real request succeed."""
    path = ready_file(home, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(f"{os.getpid()}\n", encoding="ascii")
    fresh.replace(path)


def announced_pid(home: Path, part: str) -> int | None:
    """The pid that announced itself last; it may be gone by now."""
    try:
        return int(ready_file(home, part).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def withdraw(home: Path, part: str) -> None:
    """Forget an announcement, so that the next one is a new one even if the pid comes round again."""
    ready_file(home, part).unlink(missing_ok=True)
