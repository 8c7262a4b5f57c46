"""Who is let in, what that costs, and what is remembered of it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from strom.ingest.gateway import auth
from strom.ingest.gateway.answers import Problem
from strom.ingest.gateway.auth import Gatekeeper
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.passwords import make_hash, matches
from strom.ingest.gateway.rights import User
from strom.ingest.gateway.users import Users
from strom.settings import PasswordHash, Settings, UserSettings
from tests.ingest.gateway.calling import PASSWORD, basic, quick_hash, user

HASH = quick_hash(PASSWORD)


class Door:
    """A gatekeeper with one user, anna, and a clock that stands still."""

    def __init__(self, folder: Path, **users: UserSettings) -> None:
        self.now = 1000.0
        self.counters = Counters()
        self.users = Users(Settings(users=users or {"anna": user()}), folder)
        self.keeper = Gatekeeper(self.users, self.counters, lambda: self.now)

    async def enter(self, header: bytes | None) -> User:
        return self.keeper.known(header) or await self.keeper.admit(header)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    asyncio.run(main())


def test_a_hash_says_how_it_was_made_and_fits_its_password_alone() -> None:
    made = make_hash(PASSWORD)
    parsed = PasswordHash.parse(made)
    assert parsed is not None
    assert str(parsed) == made
    assert made.startswith("scrypt$16384$8$5$")
    assert matches(PASSWORD.encode(), parsed)
    assert not matches(b"open sesame", parsed)
    assert make_hash(PASSWORD) != made


@pytest.mark.parametrize(
    "text",
    [
        "secret",
        "",
        "scrypt$16384$8$5$c2FsdA==$",
        "scrypt$16383$8$5$c2FsdA==$" + "A" * 44,  # n is no power of two
        "scrypt$4194304$8$5$c2FsdA==$" + "A" * 44,  # 4 GB of memory for one check
        "scrypt$16384$0$5$c2FsdA==$" + "A" * 44,
        "scrypt$16384$8$99$c2FsdA==$" + "A" * 44,
        "scrypt$16384$8$5$c2FsdA==$AAAA",  # a hash that anybody guesses
        "bcrypt$16384$8$5$c2FsdA==$" + "A" * 44,
    ],
)
def test_what_is_no_hash_to_check_a_password_with_is_refused(text: str) -> None:
    assert PasswordHash.parse(text) is None


def test_the_right_password_is_checked_once_and_then_remembered_for_a_while(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        for _ in range(3):
            assert (await door.enter(basic("anna", PASSWORD))).name == "anna"
        assert door.counters.passwords_checked == 1
        door.now += auth.REMEMBERED_SECONDS + 1
        await door.enter(basic("anna", PASSWORD))
        assert door.counters.passwords_checked == 2

    run(work)


def test_an_unknown_user_costs_the_same_check_as_a_wrong_password(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        sentences = set()
        for number, header in enumerate((basic("anna", "wrong"), basic("nobody", PASSWORD)), start=1):
            with pytest.raises(Problem) as caught:
                await door.enter(header)
            sentences.add((caught.value.status, caught.value.sentence))
            assert door.counters.passwords_checked == number
        assert len(sentences) == 1

    run(work)


def test_what_is_wrong_is_never_remembered(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        for _ in range(2):
            with pytest.raises(Problem):
                await door.enter(basic("anna", "wrong"))
        assert door.counters.passwords_checked == 2

    run(work)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Basic",
        b"Basic ",
        b"Basic %%%",
        b"Basic YW5uYQ==",  # no colon
        b"Basic /zov",  # not UTF-8
        b"Bearer YW5uYTp4",
        b"Basic " + b"A" * 5000,
    ],
)
def test_a_header_that_is_no_basic_credential_is_401_without_any_check(
    tmp_path: Path, header: bytes | None
) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        with pytest.raises(Problem) as caught:
            await door.enter(header)
        answer = caught.value.answer()
        assert answer.status == 401
        assert (b"www-authenticate", b'Basic realm="strom", charset="UTF-8"') in answer.headers
        assert door.counters.passwords_checked == 0

    run(work)


def test_many_at_once_with_one_password_cost_one_check(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        found = await asyncio.gather(*(door.enter(basic("anna", PASSWORD)) for _ in range(100)))
        assert {each.name for each in found} == {"anna"}
        assert door.counters.passwords_checked == 1

    run(work)


def test_guessing_at_once_is_answered_with_429(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path)
        guesses = [door.enter(basic("anna", f"guess-{number}")) for number in range(auth.CHECKS_WAITING + 5)]
        found = await asyncio.gather(*guesses, return_exceptions=True)
        statuses = [each.status for each in found if isinstance(each, Problem)]
        assert sorted(statuses) == [401] * auth.CHECKS_WAITING + [429] * 5

    run(work)


def test_no_more_is_remembered_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "REMEMBERED", 2)

    async def work() -> None:
        door = Door(tmp_path, **{name: user() for name in "abc"})
        for name in "abc":
            await door.enter(basic(name, PASSWORD))
        remembered = [name for name in "abc" if door.keeper.known(basic(name, PASSWORD))]
        assert remembered == ["b", "c"]

    run(work)


def test_without_users_the_answer_says_how_to_add_one(tmp_path: Path) -> None:
    async def work() -> None:
        keeper = Gatekeeper(Users(Settings(), tmp_path), Counters())
        with pytest.raises(Problem, match="strom users add NAME"):
            await keeper.admit(basic("anna", PASSWORD))

    run(work)


def test_users_change_with_the_file_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "strom.toml"

    def write(*names: str) -> None:
        file.write_text("".join(f'[users.{name}]\npassword = "{HASH}"\n' for name in names))

    async def work() -> None:
        write("anna")
        door = Door(tmp_path, anna=user())
        await door.enter(basic("anna", PASSWORD))
        write("anna", "berta")
        door.users.refresh()
        assert (await door.enter(basic("berta", PASSWORD))).name == "berta"
        write("berta")
        door.users.refresh()
        with pytest.raises(Problem):  # although the credential was remembered
            await door.enter(basic("anna", PASSWORD))
        file.write_text("[users.berta]\npassword = 'plain'\n")
        door.users.refresh()
        assert (await door.enter(basic("berta", PASSWORD))).name == "berta"

    run(work)


def test_users_from_elsewhere_do_not_change_with_the_file(tmp_path: Path) -> None:
    async def work() -> None:
        door = Door(tmp_path, anna=user())
        (tmp_path / "strom.toml").write_text(f'[users.berta]\npassword = "{HASH}"\n')
        door.users.refresh()
        assert list(door.users.by_name) == ["anna"]

    run(work)


@pytest.mark.parametrize(
    ("topics", "topic", "sees"),
    [
        (["*"], "sma-kafka", True),
        (["*"], "__consumer_offsets", False),
        (["__*"], "__consumer_offsets", True),
        (["__consumer_offsets"], "__consumer_offsets", True),
        (["team-*"], "team-a", True),
        (["team-*"], "team-", True),
        (["team-*"], "teams", False),
        (["team-*", "sma-kafka"], "sma-kafka", True),
        (["sma-kafka"], "sma-kafka.dead-letter", False),
        (["sma-kafka"], "", False),
    ],
)
def test_a_topic_is_ones_own_by_its_name_or_its_beginning(topics: list[str], topic: str, sees: bool) -> None:
    assert User("anna", user(topics=topics)).sees(topic) is sees


def test_rights_are_to_write_to_read_or_both() -> None:
    may = {
        rights: [User("anna", user(rights=rights)).may(right) for right in ("produce", "consume")]
        for rights in ("full", "produce", "consume")
    }
    assert may == {"full": [True, True], "produce": [True, False], "consume": [False, True]}
