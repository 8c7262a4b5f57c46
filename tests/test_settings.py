"""File, environment, flags: the later wins, and what is wrong is refused by its name and place."""

from pathlib import Path
from typing import Any

import pytest

from strom.domain.dialects import NAMES
from strom.errors import StromError
from strom.settings import GroupSettings, MeterRules, Settings, described, load_settings


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
        ("[postgres]\nschema_name = 'a b'\n", {}, "strom.toml: postgres.schema_name is 'a b'"),
        (
            '[mqtt]\nqueue_drops = "oldest"\nqueue_messages = 9\n[bridge]\nshare = "all"\n',
            {},
            'mqtt.queue_drops is "oldest", but bridges share the load (bridge.share)',
        ),
        (
            '[mqtt]\nqueue_drops = "oldest"\n',
            {},
            'mqtt.queue_drops is "oldest", but the queue has no limit: set mqtt.queue_messages or mqtt.queue_bytes.',
        ),
        (
            "[lake]\nkeep_days = 30\n[pipeline]\nlate_days = 29\n",
            {},
            "pipeline.late_days is 29, but lake.keep_days is 30: late readings are put in their place from the lake",
        ),
        (
            "[postgres]\nkeep_months = 1\n[pipeline]\nlate_days = 27\n",
            {},
            "pipeline.late_days is 27, but postgres.keep_months is 1: the months of such readings are removed; choose at most 26",
        ),
        ("[page]\ntimezone = 'Vienna'\n", {}, "page.timezone is 'Vienna': there is no such time zone"),
        ("[page]\ntimezone = 'Europe'\n", {}, "page.timezone is 'Europe': there is no such time zone"),
        ("[page]\ntimezone = '../x'\n", {}, "page.timezone is '../x': there is no such time zone"),
        ("kafka = [", {}, "strom.toml is not valid TOML"),
        ("kafka = 5\n", {}, "strom.toml: kafka is a section; write [kafka] and its settings below it"),
        (
            "[groups.big]\nmeters = ['haus-*']\nlimt_w = 9\n",
            {},
            "strom.toml: groups.big.limt_w is not a setting of Strom; did you mean groups.big.limit_w",
        ),
        (
            "[groups.big]\nmeters = ['a']\nlimit_w = 0\n",
            {},
            "strom.toml: groups.big.limit_w is 0: input should be",
        ),
        (
            "[groups.big]\nlimit_w = 9\n",
            {},
            "strom.toml: groups.big.meters is missing; it must be given: Names of meters",
        ),
        (
            "[groups.big]\nmeters = []\n",
            {},
            "strom.toml: groups.big.meters is []: list should have at least 1",
        ),
        ("groups = 5\n", {}, "strom.toml: groups is a section"),
        ("", {"STROM_GROUPS": "{big"}, "STROM_GROUPS is not JSON"),
        (
            "[rules]\nnight_to_hour = 25\n",
            {},
            "strom.toml: rules.night_to_hour is 25: input should be less than",
        ),
        (
            "[rules]\nnight_from_hour = 22\nnight_to_hour = 6\n",
            {},
            "rules.night_from_hour is 22, but rules.night_to_hour is 6: choose less than 6, or set night_to_hour higher.",
        ),
        (
            "[rules]\nexport_to_hour = 14\n[groups.west]\nmeters = ['a']\nexport_from_hour = 14\n",
            {},
            "groups.west.export_from_hour is 14, but groups.west.export_to_hour is 14: choose less than 14",
        ),
        (
            "[rules]\nexport_back_days = 13\n",
            {},
            "rules.export_of_days is 14, but rules.export_back_days is 13: choose at most 13",
        ),
        (
            "",
            {"STROM_RULES_SPIKE_WARMUP_WEEKS": "9"},
            "rules.spike_warmup_weeks is 9, but rules.spike_back_weeks is 8: choose at most 8",
        ),
        (
            "[rules]\nvoltage_high_v = 254\n",
            {},
            "rules.voltage_high_v is 254, but rules.voltage_severe_high_v is 253: choose at most 253, or set "
            "voltage_severe_high_v higher.",
        ),
        (
            "[rules]\nvoltage_severe_low_v = 190\n[groups.big]\nmeters = ['a']\nvoltage_low_v = 185.5\n",
            {},
            "groups.big.voltage_severe_low_v is 190, but groups.big.voltage_low_v is 185.5: choose at most 185.5",
        ),
        (
            "",
            {"STROM_GROUPS": '{"big": {"meters": ["a"], "noise": 1}}'},
            "STROM_GROUPS: groups.big.noise is not a setting of Strom; did you mean groups.big.noise_wh",
        ),
        (
            "[dialects]\n'p1/+/telegram' = 'dsmr'\n",
            {},
            "dialects: 'p1/+/telegram' is to be 'dsmr', but there is no such dialect; there are "
            f"{', '.join(NAMES)}.",
        ),
        (
            "",
            {"STROM_DIALECTS": '{"tele/+x/SENSOR": "tasmota_sml"}'},
            "dialects: 'tele/+x/SENSOR' is no MQTT topic filter; write levels with / between",
        ),
        ("[dialects]\n'a/#/b' = 'dsmr_p1'\n", {}, "dialects: 'a/#/b' is no MQTT topic filter"),
        ("", {"STROM_DIALECTS": '{"": "dsmr_p1"}'}, "dialects: '' is no MQTT topic filter"),
        ("[dialects]\n'$share/x/a' = 'dsmr_p1'\n", {}, "dialects: '$share/x/a' is no MQTT topic filter"),
        ("[dialects]\n'a' = 5\n", {}, "strom.toml: dialects.a is 5: input should be a valid string"),
        ("dialects = 5\n", {}, "strom.toml: dialects is a section"),
        (
            "[tasmota_names]\nBezug = 'import_wh MWh'\n",
            {},
            "tasmota_names: 'Bezug' is 'import_wh MWh': write a field of a reading and its unit, such as 'import_wh kWh'",
        ),
        ("[tasmota_names]\nBezug = 'bezug kWh'\n", {}, "tasmota_names: 'Bezug' is 'bezug kWh'"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(
    tmp_path: Path, toml: str, environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(StromError) as refused:
        load(tmp_path, toml, environment=environment)
    assert str(refused.value).startswith(sentence)
    assert refused.value.exit_code == 2


def test_the_rules_of_dialects_keep_their_order_in_a_child(tmp_path: Path) -> None:
    toml = "[dialects]\n'z/+' = 'dsmr_p1'\n'a.b/#' = 'shelly_3em'\n[tasmota_names]\nBezug = 'import_wh kWh'\n"
    settings = load(tmp_path, toml)
    assert list(settings.dialects.items()) == [("z/+", "dsmr_p1"), ("a.b/#", "shelly_3em")]
    child = load_settings(environment=settings.as_environment(), folder=tmp_path / "elsewhere")
    assert list(child.dialects.items()) == list(settings.dialects.items())
    assert child.tasmota_names == {"Bezug": "import_wh kWh"}


def test_a_schema_of_its_own_is_part_of_the_connection_url(tmp_path: Path) -> None:
    settings = load(tmp_path, "[postgres]\nurl = 'postgresql://u@h/db'\n")
    assert settings.postgres_url == "postgresql://u@h/db"
    assert (
        settings.with_schema("fresh").postgres_url == "postgresql://u@h/db?options=-c%20search_path%3Dfresh"
    )


def test_how_late_a_reading_may_be_follows_from_how_long_lake_and_tables_keep_it(tmp_path: Path) -> None:
    day = 86_400_000
    assert load(tmp_path).late_ms == 60 * day
    assert load(tmp_path, "[lake]\nkeep_days = 30\n").late_ms == 28 * day
    assert load(tmp_path, "[lake]\nkeep_days = 400\n").late_ms == 60 * day
    assert load(tmp_path, "[postgres]\nkeep_months = 12\n").late_ms == 60 * day
    assert load(tmp_path, "[postgres]\nkeep_months = 1\n").late_ms == 26 * day
    assert load(tmp_path, "[lake]\nkeep_days = 10\n[postgres]\nkeep_months = 12\n").late_ms == 8 * day
    assert load(tmp_path, "[pipeline]\nlate_days = 5\n").late_ms == 5 * day


GROUPS = """
[rules]
limit_w = 20000
noise_wh = 3
[groups."haus 7.b"]
meters = ["haus-7"]
limit_w = 30000
[groups.houses]
meters = ["haus-*", "hof-????"]
limit_w = 40000
silent_seconds = 600
"""


@pytest.mark.parametrize(
    ("meter", "limit_w", "silent_seconds"),
    [
        ("haus-8", 40_000, 600),
        ("haus-7", 30_000, 90),  # the first group that names it, and that one alone
        ("hof-0001", 40_000, 600),
        ("hof-001", 20_000, 90),
        ("my haus-8", 20_000, 90),  # a pattern means the whole name
        ("haus-\n", 40_000, 600),
        ("HAUS-8", 20_000, 90),
    ],
)
def test_the_first_group_that_names_a_meter_sets_its_rules(
    tmp_path: Path, meter: str, limit_w: int, silent_seconds: int
) -> None:
    rules = MeterRules(load(tmp_path, GROUPS)).of(meter)
    assert (rules.limit_w, rules.silent_seconds, rules.noise_wh) == (limit_w, silent_seconds, 3)


def test_what_is_no_star_and_no_question_mark_means_itself() -> None:
    group = GroupSettings(meters=["a.b[1]+", "(x|y)"], limit_w=5)
    rules = MeterRules(Settings(groups={"odd": group}))
    names = ("a.b[1]+", "axb1", "(x|y)", "x")
    assert [rules.of(name).limit_w for name in names] == [5, 43_470, 5, 43_470]


def test_the_agreed_power_is_the_limit_of_the_meter_unless_set(tmp_path: Path) -> None:
    toml = "[groups.a]\nmeters = ['a']\nlimit_w = 9000\n[groups.b]\nmeters = ['b']\nagreed_w = 4000\n"
    rules = MeterRules(load(tmp_path, toml))
    assert [rules.of(meter).most_w for meter in ("a", "b", "c")] == [9000, 4000, 43_470]


def test_child_processes_get_the_same_settings(tmp_path: Path) -> None:
    settings = load(tmp_path, GROUPS + "[mqtt]\ntls = true\n")
    assert load(tmp_path, environment=settings.as_environment()) == settings
    assert list(load(tmp_path, environment=settings.as_environment()).groups) == ["haus 7.b", "houses"]


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
