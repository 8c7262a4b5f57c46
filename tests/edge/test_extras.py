"""Where only the core is installed: what works, what says which extra it needs, and that the two lists are true."""

import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from strom.extras import EXTRAS
from strom.settings import Settings
from tests.edge.bare import PROJECT, ROOT, closure, names

DECLARED: dict[str, list[str]] = PROJECT["optional-dependencies"]


def bare(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = Settings(home=home).child_environment() | {"PYTHONPATH": f"{ROOT}/src"}
    command = [sys.executable, "-m", "tests.edge.bare", *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("pipeline run", "pyspark", "pipeline"),
        ("lake status", "pyspark", "pipeline"),
        ("bench pipeline --quick", "pyspark", "pipeline"),
        ("serve", "uvicorn", "serve"),
        ("alerts list", "psycopg", "postgres"),
        ("meters list", "psycopg", "postgres"),
    ],
)
def test_a_verb_whose_extra_is_missing_says_in_one_sentence_which(
    tmp_path: Path, words: str, package: str, extra: str
) -> None:
    found = bare(tmp_path, *words.split())
    sentence = (
        f"strom: This needs {package}, which is not installed here: pip install 'strom[{extra}]' brings it.\n"
    )
    assert (found.returncode, found.stderr) == (2, sentence)


def test_the_core_decodes_what_an_adapter_says(tmp_path: Path) -> None:
    found = bare(tmp_path, "decode", str(ROOT / "tests" / "payloads" / "standard.json"))
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["meter"] == "haus-21"


@pytest.mark.parametrize("words", ["--help", "bridge --help", "settings", "status", "simulate --help"])
def test_verbs_that_need_no_extra_run(tmp_path: Path, words: str) -> None:
    found = bare(tmp_path, *words.split())
    assert found.returncode == 0, found.stderr


def test_every_package_of_an_extra_is_in_the_table_and_the_extra_brings_it() -> None:
    core = closure(names(PROJECT["dependencies"]))
    distributions = {module: {*map(str.lower, of)} for module, of in packages_distributions().items()}
    for module, extra in EXTRAS.items():
        brought = closure(names(DECLARED[extra]))
        assert {name.replace("_", "-") for name in distributions[module]} & brought, (
            f"{extra} has no {module}"
        )
    told = {name.replace("_", "-") for module in EXTRAS for name in distributions[module]}
    for extra, requirements in DECLARED.items():
        if extra != "all":
            assert names(requirements) - core <= told, f"extras.py does not know all of {extra}"


def test_all_is_all() -> None:
    (everything,) = DECLARED["all"]
    assert everything == f"strom[{','.join(sorted(set(DECLARED) - {'all'}))}]"


def test_extras_and_core_are_what_the_set_up_installs() -> None:
    lines = (ROOT / "requirements" / "base.in").read_text(encoding="utf-8").splitlines()
    edge = (ROOT / "requirements" / "edge.in").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in (*lines, *edge) if line and not line.startswith(("#", "-"))]
    declared = [*PROJECT["dependencies"], *(each for of in DECLARED.values() for each in of)]
    assert names(wanted) == names(declared) - {"strom"}
    assert names([line for line in edge if line and not line.startswith("#")]) == names(
        PROJECT["dependencies"]
    )
