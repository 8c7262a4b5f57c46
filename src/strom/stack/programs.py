"""Finds the servers that the system's packages install, also where those are not on the PATH."""

import re
import shutil
import subprocess
from pathlib import Path

from strom.errors import StromError

DEBIAN_POSTGRES = Path("/usr/lib/postgresql")
SBIN = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"


def find_mosquitto() -> str:
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path=SBIN)
    if program is None:
        raise StromError(
            "Mosquitto is missing: install it (Debian: mosquitto) or name an existing broker with --mqtt."
        )
    return program


def find_mosquitto_passwd() -> str:
    program = shutil.which("mosquitto_passwd")
    if program is None:
        raise StromError(
            "mosquitto_passwd is missing: install it (it comes with Mosquitto) or leave mqtt.username empty."
        )
    return program


def find_postgres(version: str | None = None) -> Path:
    """The folder of Postgres' programs: the one of `version` where several are installed, else the newest."""
    found = sorted(_postgres_folders(), key=lambda folder: _number(postgres_version(folder)))
    if not found:
        raise StromError(
            "Postgres is missing: install it (Debian: postgresql) or name an existing one with --postgres."
        )
    return next((folder for folder in found if postgres_version(folder) == version), found[-1])


def postgres_version(folder: Path) -> str:
    """The major version, as it stands in a data folder's PG_VERSION."""
    answer = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+)", answer.stdout)
    return found.group(1) if found else ""


def _postgres_folders() -> list[Path]:
    on_path = shutil.which("initdb")
    folders = [path.parent for path in DEBIAN_POSTGRES.glob("*/bin/initdb")]
    folders += [Path(on_path).resolve().parent] if on_path else []
    return [folder for folder in dict.fromkeys(folders) if (folder / "postgres").exists()]


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
