"""The adapters in the settings: what is wrong is refused by its entry, and a token is never shown."""

from pathlib import Path
from typing import Any

import pytest

from strom.errors import StromError
from strom.settings import AdapterSettings, Settings, described, load_settings
from strom.stack.catalogue import choose, status_names, usual

FINGERPRINT = ":".join(["aB"] * 32)
OUT_OF_RANGE = "is too short or too long; choose from 0.1s to 1d."
ENDLESS = "9" * 400 + "w"  # more than a number holds
KELLER = f"""
[adapters.keller]
by = "rest"
address = "192.168.1.20"
token = "geheim"
fingerprint = "{FINGERPRINT}"

[adapters."haus 7.b"]
by = "modbus"
address = "[fe80::1]:1502"
interval = "1m"
unit = 3
"""


def load(folder: Path, toml: str = "", environment: dict[str, str] | None = None) -> Settings:
    (folder / "strom.toml").write_text(toml, encoding="utf-8")
    return load_settings(environment=environment or {}, folder=folder)


def test_each_entry_is_an_adapter(tmp_path: Path) -> None:
    keller, haus = load(tmp_path, KELLER).adapters.values()
    assert (keller.host, keller.port, keller.interval_seconds) == ("192.168.1.20", 443, 2)
    assert keller.pinned == b"\xab" * 32
    assert (haus.host, haus.port, haus.interval_seconds, haus.unit) == ("fe80::1", 1502, 60, 3)


def test_child_processes_get_the_same_adapters(tmp_path: Path) -> None:
    settings = load(tmp_path, KELLER + "\n[adapters.x]\nby='rest'\naddress='h'\nca_file='ca.pem'\n")
    assert load(tmp_path, environment=settings.as_environment()) == settings


def test_a_token_in_an_entry_is_never_shown(tmp_path: Path) -> None:
    told = str(described(load(tmp_path, KELLER)))
    assert "192.168.1.20" in told
    assert "geheim" not in told


@pytest.mark.parametrize(
    ("entry", "more", "sentence"),
    [
        ("a", {"address": "h:0"}, "adapters.a: 'h:0' is no address: write it as host or host:port."),
        ("a", {"address": "https://h"}, "adapters.a: 'https://h' is no address"),
        ("a", {"address": "grün"}, "adapters.a: 'grün' is no address"),
        ("a", {"by": "mqtt"}, "strom.toml: adapters.a.by is 'mqtt'"),
        ("a", {"by": None}, "strom.toml: adapters.a.by is missing; it must be given: How to ask it"),
        ("a", {"interval": "0s"}, "adapters.a: '0s' is no duration"),
        ("a", {"interval": "0.0001s"}, f"adapters.a: '0.0001s' {OUT_OF_RANGE}"),
        ("a", {"interval": "0.09s"}, f"adapters.a: '0.09s' {OUT_OF_RANGE}"),
        ("a", {"interval": "25h"}, f"adapters.a: '25h' {OUT_OF_RANGE}"),
        ("a", {"interval": ENDLESS}, f"adapters.a: '{ENDLESS}' {OUT_OF_RANGE}"),
        ("a", {"interval": "5"}, "strom.toml: adapters.a.interval is '5'"),
        ("a", {"fingerprint": "ab"}, "strom.toml: adapters.a.fingerprint is 'ab'"),
        ("a", {"path": "api"}, "strom.toml: adapters.a.path is 'api'"),
        ("a", {"path": "/a b"}, "strom.toml: adapters.a.path is '/a b'"),
        (
            "a",
            {"tokn": "x"},
            "strom.toml: adapters.a.tokn is not a setting of Strom; did you mean adapters.a.token",
        ),
        ("a", {"unit": 1}, 'adapters.a.unit is only for by = "modbus"; leave it out.'),
        ("a", {"name": "x"}, 'adapters.a.name is only for by = "modbus"; leave it out.'),
        ("a", {"by": "modbus", "token": "x"}, 'adapters.a.token is only for by = "rest"; leave it out.'),
        (
            "a",
            {"fingerprint": FINGERPRINT, "ca_file": "x"},
            "adapters.a has a fingerprint and a ca_file: keep the one",
        ),
        ("a/b", {}, "adapters.a/b is no name for an adapter"),
    ],
)
def test_what_is_wrong_is_refused_by_its_entry(
    tmp_path: Path, entry: str, more: dict[str, Any], sentence: str
) -> None:
    given = {"by": "rest", "address": "h"} | more
    lines = [
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}"
        for name, value in given.items()
        if value
    ]
    with pytest.raises(StromError) as refused:
        load(tmp_path, f'[adapters."{entry}"]\n' + "\n".join(lines))
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("interval", ["0.1s", "0.5s", "1d"])
def test_an_interval_may_be_as_short_and_as_long_as_a_meter_can_use(tmp_path: Path, interval: str) -> None:
    toml = f'[adapters.a]\nby = "rest"\naddress = "h"\ninterval = "{interval}"\n'
    assert load(tmp_path, toml).adapters["a"].interval == interval


@pytest.mark.parametrize("token", ["gehe im", "geheim\\r\\nX: y", "geheim ä"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_without_it(tmp_path: Path, token: str) -> None:
    with pytest.raises(StromError) as refused:
        load(tmp_path, f'[adapters.a]\nby = "rest"\naddress = "h"\ntoken = "{token}"\n')
    assert "adapters.a.token" in str(refused.value)
    assert "gehe" not in str(refused.value)


def test_an_address_without_a_port_has_that_of_its_way() -> None:
    assert [AdapterSettings(by=by, address="h").port for by in ("rest", "modbus")] == [443, 502]


def test_the_poller_is_a_part_of_the_stack_only_where_adapters_are_set(tmp_path: Path) -> None:
    with_adapters = load(tmp_path, KELLER)
    assert "poll" in usual(with_adapters)
    assert "poll" in status_names(with_adapters)
    assert "poll" not in usual(Settings())
    [part] = choose(Settings(), ["poll"])
    with pytest.raises(StromError, match=r"poll needs an adapter to ask: put \[adapters.NAME\]"):
        part.check()
