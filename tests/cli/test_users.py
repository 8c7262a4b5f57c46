"""`strom users` as people type it."""

import json
import tomllib
from pathlib import Path

import pytest

from strom.ingest.gateway.passwords import matches
from strom.settings import PasswordHash
from tests.ingest.gateway.calling import strom_in


def hash_in(folder: Path, name: str) -> PasswordHash:
    parsed = PasswordHash.parse(tomllib.loads((folder / "strom.toml").read_text())["users"][name]["password"])
    assert parsed is not None
    return parsed


def test_a_user_is_added_listed_changed_and_removed(tmp_path: Path) -> None:
    added = strom_in(
        tmp_path, "users", "add", "anna", "--password-stdin", "--topics", "sma-kafka,team-*", "--topics", "x",
        "--rights", "produce", given="geheim-geheim\n",
    )  # fmt: skip
    assert (added.returncode, added.stdout.splitlines()[0]) == (0, "anna may write to sma-kafka, team-*, x.")
    assert matches(b"geheim-geheim", hash_in(tmp_path, "anna"))
    listed = strom_in(tmp_path, "users", "list", "--json")
    assert json.loads(listed.stdout) == {
        "anna": {"topics": ["sma-kafka", "team-*", "x"], "rights": "produce"}
    }
    assert "anna" in strom_in(tmp_path, "users", "list").stdout
    again = strom_in(tmp_path, "users", "add", "anna", "--generate")
    assert (again.returncode, "--replace" in again.stderr) == (2, True)
    changed = strom_in(tmp_path, "users", "add", "anna", "--generate", "--replace")
    password = changed.stdout.split("shown this once: ")[1].split()[0]
    assert matches(password.encode(), hash_in(tmp_path, "anna"))
    assert strom_in(tmp_path, "users", "remove", "anna").returncode == 0
    assert "no users yet" in strom_in(tmp_path, "users", "list").stdout


@pytest.mark.parametrize(
    ("words", "typed", "sentence"),
    [
        (["anna"], "", "There is no terminal to ask for a password"),
        (["anna", "--password-stdin"], "short\n", "The password is too short"),
        (["anna", "--password-stdin", "--generate"], "", "exclude each other"),
        (
            ["anna", "--generate", "--rights", "all"],
            "",
            "--rights all is unknown; there are full, produce, consume.",
        ),
        (["anna", "--generate", "--topics", "a*b"], "", "--topics a*b: give names of topics"),
        (["a:b", "--generate"], "", "'a:b' cannot be the name of a user"),
    ],
)
def test_what_cannot_be_added_is_said_in_one_sentence_and_nothing_is_written(
    tmp_path: Path, words: list[str], typed: str, sentence: str
) -> None:
    done = strom_in(tmp_path, "users", "add", *words, given=typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not (tmp_path / "strom.toml").exists()


def test_a_password_in_plain_text_is_refused_by_its_name_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "strom.toml").write_text("[users.anna]\npassword = 'geheim-geheim'\n")
    done = strom_in(tmp_path, "users", "list")
    assert done.returncode == 2
    assert "strom.toml: users.anna.password is '…': only the hash of a password may stand here" in done.stderr
    assert "strom users add" in done.stderr
    assert "geheim" not in done.stderr


def test_the_list_of_settings_shows_users_without_their_hashes(tmp_path: Path) -> None:
    strom_in(tmp_path, "users", "add", "anna", "--generate")
    shown = strom_in(tmp_path, "settings", "--json").stdout
    assert json.loads(shown)["users"] == {"anna": {"password": "…", "topics": ["*"], "rights": "full"}}
