"""`strom meters` as people type it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from strom.settings import Settings
from tests.streams.writing import strom

pytestmark = pytest.mark.stack


def test_set_show_list_export_and_import_again(
    stack: Settings, unique: Callable[[str], str], tmp_path: Path
) -> None:
    meter, area = unique("haus"), unique("area")
    done = strom(stack, "meters", "set", meter, "--area", area, "--tariff", "Tag, Nacht")
    assert (done.stdout, done.stderr) == (f"{meter}: set, it has not been heard yet\n", "")
    shown = json.loads(strom(stack, "meters", "show", meter, "--json").stdout)
    assert shown == {
        "meter": meter, "area": area, "tariff": "Tag, Nacht", "contract": None, "meter_number": None,
        "interval_s": None, "first_seen": None, "last_seen": None,
    }  # fmt: skip
    listed = strom(stack, "meters", "list", "--area", area).stdout.splitlines()
    assert listed[1].split() == [meter, area, "Tag,", "Nacht", "never"]
    assert listed[-1] == "1 meters"

    head, *rows = strom(stack, "meters", "export").stdout.splitlines()
    mine = [row for row in rows if row.startswith(meter)]
    file = tmp_path / "meters.csv"
    file.write_text("\n".join([head, *(row.replace("Tag, Nacht", "Tag") for row in mine)]))
    assert strom(stack, "meters", "import", str(file)).stdout == "1 meters set\n"
    assert "tariff       Tag\n" in strom(stack, "meters", "show", meter).stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("show", "nobody"),
            "strom: There is no meter named 'nobody'; `strom meters list` shows those there are.\n",
        ),
        (("set", "a"), "strom: There is nothing to set; give --area, --tariff or --contract.\n"),
        (("set", " ", "--area", "x"), "strom: This cannot be entered: the name of the meter is empty.\n"),
        (("import", "/nowhere.csv"), "strom: /nowhere.csv cannot be read "),
    ],
)
def test_what_is_wrong_is_one_sentence(stack: Settings, arguments: tuple[str, ...], sentence: str) -> None:
    done = strom(stack, "meters", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)


def test_a_wrong_table_enters_nothing(stack: Settings, unique: Callable[[str], str], tmp_path: Path) -> None:
    meter, file = unique("haus"), tmp_path / "meters.csv"
    file.write_text(f"meter,area\n{meter},Nord\n,Süd\n")
    done = strom(stack, "meters", "import", str(file))
    assert done.stderr == f"strom: {file} cannot be taken: line 3: the name of the meter is empty.\n"
    assert strom(stack, "meters", "show", meter).returncode == 2
