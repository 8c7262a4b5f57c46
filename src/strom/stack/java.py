"""Finds a Java that is new enough and the jars that the set-up fetched; starts nothing that lasts."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from strom.errors import StromError
from strom.settings import java_home

OLDEST = 17


def jars_folder(name: str) -> Path:
    """Where `make setup` puts the jars of a configuration of ivy.xml; refused if they are not there."""
    folder = Path(sys.prefix) / "share" / "strom" / name
    if not any(folder.glob("*.jar")):
        raise StromError(f"The {name} jars are missing in {folder}: run `make setup` to fetch them.")
    return folder


@cache
def find_java() -> str:
    """The java of JAVA_HOME or of the PATH, version 17 or newer."""
    home = java_home()
    program = str(home / "bin" / "java") if home else shutil.which("java")
    if program is None:
        raise StromError(
            f"Java is missing: install Java {OLDEST} or newer (Debian: openjdk-17-jre-headless)."
        )
    version = _version_of(program)
    if version < OLDEST:
        raise StromError(
            f"{program} is Java {version}, Strom needs {OLDEST} or newer: install one or set JAVA_HOME."
        )
    return program


def _version_of(program: str) -> int:
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise StromError(
            f"{program} does not run ({error}): install Java {OLDEST} or mend JAVA_HOME."
        ) from None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if found is None:
        raise StromError(f"{program} does not tell its version: install Java {OLDEST} or newer.")
    return int(found.group(1))
