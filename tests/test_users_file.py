"""Users are written into strom.toml without changing anything else in it."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strom.errors import StromError
from strom.settings import USER_PATTERN, PasswordHash, UserSettings, load_settings
from strom.settings.users_file import UsersFile

HASH = str(PasswordHash(16384, 8, 5, b"salt", b"x" * 32))
OTHER = str(PasswordHash(16384, 8, 5, b"salt", b"y" * 32))
FULL = """\
# My house.
home = "data"   # not the usual one

[kafka]
port = 9192
# the old one: [users.anna]

[users.anna]   # my sister
password = "HASH"
# she asked for this
topics = ["team-*"]

# what follows is about groups
[groups.big]
meters = ["haus-*"]
limit_w = 9000
""".replace("HASH", HASH)


def user(password: str = HASH, **given: object) -> UserSettings:
    return UserSettings.model_validate({"password": password, **given})


def write(folder: Path, text: str) -> Path:
    path = folder / "strom.toml"
    path.write_text(text)
    return path


def test_the_first_user_makes_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    UsersFile(tmp_path).put("anna", user(topics=["a", "b*"], rights="produce"), replace=False)
    path = tmp_path / "strom.toml"
    assert (
        path.read_text() == f'[users.anna]\npassword = "{HASH}"\ntopics = ["a", "b*"]\nrights = "produce"\n'
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_settings(environment={}, folder=tmp_path).users["anna"].rights == "produce"


def test_a_user_is_appended_and_what_was_there_stays_to_the_byte(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    path.chmod(0o640)
    UsersFile(tmp_path).put("berta@example.org", user(), replace=False)
    assert path.read_text().startswith(FULL)
    assert '[users."berta@example.org"]' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["strom.toml"]


def test_a_user_that_is_there_is_changed_in_its_place_and_only_when_asked_to(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    with pytest.raises(StromError, match="--replace"):
        UsersFile(tmp_path).put("anna", user(OTHER), replace=False)
    assert path.read_text() == FULL
    UsersFile(tmp_path).put("anna", user(OTHER), replace=True)
    begin, end = FULL.index("[users.anna]   #"), FULL.index("\n# what follows")
    block = f'[users.anna]\npassword = "{OTHER}"\ntopics = ["*"]\nrights = "full"\n'
    assert path.read_text() == FULL[:begin] + block + FULL[end:]


def test_a_user_is_taken_out_and_the_others_stay(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    UsersFile(tmp_path).put("berta", user(), replace=False)
    UsersFile(tmp_path).remove("anna")
    begin, end = FULL.index("[users.anna]   #"), FULL.index("# what follows")
    assert path.read_text().startswith(FULL[:begin] + FULL[end:])
    UsersFile(tmp_path).remove("berta")
    assert path.read_text() == FULL[:begin] + FULL[end:]


def test_one_that_is_not_there_cannot_be_taken_out(tmp_path: Path) -> None:
    with pytest.raises(StromError, match="There is no user anna"):
        UsersFile(tmp_path).remove("anna")


@pytest.mark.parametrize(
    "text",
    [
        f'users = {{ anna = {{ password = "{HASH}" }} }}\n',
        f'[users]\nanna.password = "{HASH}"\n',
        f'[users]\nanna = {{ password = "{HASH}" }}\n',
        f'note = """\n[users.anna]\n"""\n[users]\nanna = {{ password = "{HASH}" }}\n',
    ],
)
def test_users_written_in_another_way_are_left_alone_with_a_sentence(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(StromError, match=r"\[users.NAME\]"):
        UsersFile(tmp_path).put("anna", user(OTHER), replace=True)
    with pytest.raises(StromError, match=r"\[users.NAME\]"):
        UsersFile(tmp_path).remove("anna")
    assert path.read_text() == text


def test_a_file_that_is_no_toml_is_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "[kafka\n")
    with pytest.raises(StromError, match="not valid TOML"):
        UsersFile(tmp_path).put("anna", user(), replace=False)
    assert path.read_text() == "[kafka\n"


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.toml"
    real.write_text(FULL)
    (tmp_path / "strom.toml").symlink_to(real)
    UsersFile(tmp_path).put("berta", user(), replace=False)
    assert (tmp_path / "strom.toml").is_symlink()
    assert "[users.berta]" in real.read_text()


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "strom.toml"
    path.write_bytes(b"[kafka]\r\nport = 9192\r\n")
    UsersFile(tmp_path).put("anna", user(), replace=False)
    assert path.read_bytes().startswith(b"[kafka]\r\nport = 9192\r\n")
    UsersFile(tmp_path).remove("anna")
    assert path.read_bytes() == b"[kafka]\r\nport = 9192\r\n"


@pytest.mark.parametrize("name", ["", ".anna", "a:b", "a b", "ä", "a" * 65, 'a"b'])
def test_a_name_that_http_or_the_file_cannot_carry_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StromError, match="cannot be the name of a user"):
        UsersFile(tmp_path).put(name, user(), replace=False)
    with pytest.raises(StromError, match="cannot be the name of a user"):
        load_settings(
            environment={"STROM_USERS": f'{{"{name}": {{"password": "{HASH}"}}}}'.replace('a"b', 'a\\"b')},
            folder=tmp_path,
        )


@given(st.lists(st.tuples(st.from_regex(USER_PATTERN, fullmatch=True), st.booleans()), max_size=8))
def test_users_come_and_go_and_the_rest_of_the_file_never_changes(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("users")
    path = write(folder, FULL)
    expected = {"anna"}
    file = UsersFile(folder)
    for name, stays in [(name, True) for name, _ in changes] + changes:
        if stays:
            file.put(name, user(), replace=True)
            expected.add(name)
        elif name in expected:
            file.remove(name)
            expected.discard(name)
    found, before = tomllib.loads(path.read_text()), tomllib.loads(FULL)
    assert set(found.pop("users")) == expected
    assert found == {name: value for name, value in before.items() if name != "users"}
    assert "# what follows is about groups\n[groups.big]" in path.read_text()
