"""Under whose name a server runs when Strom is started by root, and how that user reaches its data folder.

Postgres refuses to run as root, and a broker has no need to. Knows no server in particular.
"""

import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path

from strom.errors import StromError

# Lets a process pass folders on the way to its data that are closed to its user, such as /root; a container
# without the first often has the second.
CAPABILITIES = {"dac_read_search": 2, "dac_override": 1}


def setpriv() -> str | None:
    """The tool (of util-linux) that changes user and asks the kernel for a signal when the parent dies."""
    return shutil.which("setpriv")


def give(folder: Path, user: str | None) -> None:
    """Make the folder and all in it belong to the user it will be used by."""
    if user is None or os.geteuid() != 0:
        return
    entry = _entry(user)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def as_user(user: str | None, folder: Path) -> list[str]:
    """The start of a command line that runs the rest as `user`, able to reach `folder`; empty if not root."""
    if user is None or os.geteuid() != 0:
        return []
    program = setpriv()
    if program is None:
        raise StromError(
            f"As root, {user} needs setpriv (Debian: util-linux): install it or run Strom as another user."
        )
    entry = _entry(user)
    change = [program, f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups"]
    if _reaches(change, folder):
        return change
    return [*change, *_with_capability(user, folder)]


def _reaches(change: list[str], folder: Path) -> bool:
    return subprocess.run([*change, "test", "-x", folder], check=False, capture_output=True).returncode == 0


def _with_capability(user: str, folder: Path) -> list[str]:
    held = _held_capabilities()
    for name, bit in CAPABILITIES.items():
        if held >> bit & 1:
            return [f"--inh-caps=+{name}", f"--ambient-caps=+{name}"]
    raise StromError(
        f"The user {user} cannot reach {folder}: choose a home that others may enter (STROM_HOME or --home)."
    )


@cache
def _held_capabilities() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return int(line.split()[1], 16)


def _entry(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise StromError(
            f"There is no user {user}, as whom the server runs when root starts it: "
            "create it, or run Strom as another user."
        ) from None
