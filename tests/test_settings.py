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


def test_options_of_spark_are_taken_however_they_are_written(tmp_path: Path) -> None:
    expected = {
        "spark.hadoop.fs.s3a.endpoint": "http://s3:9000",
        "spark.executor.cores": "2",
        "spark.ui.enabled": "true",
    }
    quoted = """
    [spark.conf]
    "spark.hadoop.fs.s3a.endpoint" = "http://s3:9000"
    "spark.executor.cores" = 2
    "spark.ui.enabled" = true
    """
    dotted = (
        quoted.replace('"spark.', "spark.")
        .replace('endpoint" =', "endpoint =")
        .replace('cores" =', "cores =")
    )
    dotted = dotted.replace('enabled" =', "enabled =")
    assert load(tmp_path, quoted).spark.conf == expected
    assert load(tmp_path, dotted).spark.conf == expected
    variable = load(tmp_path, quoted).as_environment()["STROM_SPARK_CONF"]
    assert load(tmp_path, environment={"STROM_SPARK_CONF": variable}).spark.conf == expected


@pytest.mark.parametrize("text", ["spark.executor.cores=2", "[1]", "2"])
def test_options_of_spark_that_are_no_table_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(StromError, match=r"STROM_SPARK_CONF is .*write a table of Spark's own names"):
        load(tmp_path, environment={"STROM_SPARK_CONF": text})


def test_secrets_among_the_options_of_spark_are_not_shown(tmp_path: Path) -> None:
    toml = "[spark.conf]\n'spark.hadoop.fs.s3a.secret.key' = 'hush'\n'spark.hadoop.fs.s3a.endpoint' = 'e'\n"
    shown = next(each.value for each in described(load(tmp_path, toml)) if each.name == "spark.conf")
    assert shown == {"spark.hadoop.fs.s3a.secret.key": "…", "spark.hadoop.fs.s3a.endpoint": "e"}
