"""Names of hosts: several addresses are tried in turn, and one that answers is kept."""

import asyncio
import socket

import pytest

from strom.ingest.poll.lookup import Lookup


@pytest.fixture
def _two_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that knows a box under an old address and a new one."""

    def look_up(host: str, port: int, **_: object) -> list[object]:
        if host != "box.local":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        six, four = socket.AF_INET6, socket.AF_INET
        return [(six, 0, 0, "", ("fe80::1", port)), (four, 0, 0, "", ("10.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_an_address_is_itself() -> None:
    assert asyncio.run(Lookup("127.0.0.1", 443).address()) == "127.0.0.1"
    assert asyncio.run(Lookup("::1", 443).address()) == "::1"


@pytest.mark.usefixtures("_two_addresses")
def test_after_a_failure_the_next_address_is_taken_and_a_good_one_is_kept() -> None:
    async def scene() -> list[str]:
        lookup = Lookup("box.local", 443)
        found = [await lookup.address(), await lookup.address()]
        lookup.good()
        return [*found, await lookup.address(), await lookup.address()]

    assert asyncio.run(scene()) == ["10.0.0.1", "fe80::1", "fe80::1", "10.0.0.1"]


@pytest.mark.usefixtures("_two_addresses")
def test_a_name_that_is_not_known_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="Name or service not known"):
        asyncio.run(Lookup("nobody", 443).address())
