"""File, environment, flags: the later wins, and what is wrong is refused by its name and place."""

from pathlib import Path
from typing import Any

import pytest

from strom.errors import StromError
from strom.settings import Settings, described, load_settings


def load(
    folder: Path,
    toml: str = "",
    flags: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> Settings:
    (folder / "strom.toml").write_text(toml)
    return load_settings(flags, environment=environment or {}, folder=folder)


def test_the_later_source_wins(tmp_path: Path) -> None:
    toml = "[kafka]\nport = 1111\npartitions = 7\n"
    assert load(tmp_path, toml).kafka.port == 1111
    assert load(tmp_path, toml, environment={"STROM_KAFKA_PORT": "2222"}).kafka.port == 2222
    settings = load(tmp_path, toml, {"kafka.port": 3333}, {"STROM_KAFKA_PORT": "2222"})
    assert (settings.kafka.port, settings.kafka.partitions) == (3333, 7)


def test_an_existing_server_replaces_the_embedded_one(tmp_path: Path) -> None:
    settings = load(tmp_path, "[mqtt]\naddress = 'broker:8883'\n", {"kafka.bootstrap": "a:1,b:2"})
    assert settings.mqtt_address == ("broker", 8883)
    assert settings.kafka_bootstrap == "a:1,b:2"


@pytest.mark.parametrize(
    ("toml", "environment", "sentence"),
    [
        (
            "[kafka]\nprot = 1\n",
            {},
            "strom.toml: kafka.prot is not a setting of Strom; did you mean kafka.port",
        ),
        ("[kafka]\nport = 'x'\n", {}, "strom.toml: kafka.port is 'x'"),
        (
            "",
            {"STROM_KAFKA_PRT": "1"},
            "STROM_KAFKA_PRT is not a setting of Strom; did you mean STROM_KAFKA_PORT",
        ),
        ("", {"STROM_KAFKA_PORT": "x"}, "STROM_KAFKA_PORT is 'x'"),
        ("[mqtt]\naddress = 'nowhere'\n", {}, "mqtt.address is 'nowhere': write it as host:port"),
        ("kafka = [", {}, "strom.toml is not valid TOML"),
        ("kafka = 5\n", {}, "strom.toml: kafka is a section; write [kafka] and its settings below it"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(
    tmp_path: Path, toml: str, environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(StromError) as refused:
        load(tmp_path, toml, environment=environment)
    assert str(refused.value).startswith(sentence)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("mqtt.password", "geheim", "…"),
        ("alerts_mail.password", "geheim", "…"),
        ("alerts_webhook.secret", "geheim", "…"),
        (
            "alerts_webhook.url",
            "https://anna:geheim@hooks.example:8443/geheim?t=geheim",
            "https://hooks.example:8443/…",
        ),
        ("alerts_webhook.url", "geheim", "…"),
        ("postgres.url", "postgresql://anna:geheim@db.example/strom", "postgresql://db.example/…"),
    ],
)
def test_a_secret_is_never_shown(tmp_path: Path, name: str, value: str, shown: str) -> None:
    settings = load(tmp_path, flags={name: value})
    assert {each.name: each.value for each in described(settings)}[name] == shown
    assert "geheim" not in str(described(settings))


def test_a_secret_of_the_wrong_form_is_refused_without_it(tmp_path: Path) -> None:
    with pytest.raises(StromError) as refused:
        load(tmp_path, "[alerts_mail]\npassword = 4711\n")
    assert "alerts_mail.password" in str(refused.value)
    assert "4711" not in str(refused.value)
