"""`strom` as it is where only the core was installed: every package that the extras bring is as if it were not there.

Run it as a program: `python -m tests.edge.bare bridge …`.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: Sequence[str]) -> set[str]:
    """The bare names of requirements, without those that only an extra wants."""
    return {_name(each) for each in requirements if "extra ==" not in each}


def closure(wanted: set[str]) -> set[str]:
    """These distributions and all that they need in turn."""
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            try:
                wanted |= names(requires(name) or [])
            except PackageNotFoundError:  # not for this system
                continue
    return found


class Without(MetaPathFinder):
    """Refuses what belongs to a distribution, but not to one of these."""

    def __init__(self, allowed: set[str]) -> None:
        self._refused = {
            module
            for module, distributions in packages_distributions().items()
            if not {*map(_canonical, distributions)} & (allowed | {"strom"})
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._refused:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return _canonical(found[0])


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.meta_path.insert(0, Without(closure(names(PROJECT["dependencies"]))))
    from strom.cli.main import main

    main()
