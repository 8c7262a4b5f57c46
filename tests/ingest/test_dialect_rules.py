"""Which dialect is spoken on a topic, what the bridge asks for, and that strangers' topics cost no memory."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import topic_matches_sub

from strom.ingest.dialect_rules import MOST_KNOWN, DialectRules
from strom.ingest.subscriptions import Subscriptions
from strom.settings import BridgeSettings, Settings

RULES = {
    "p1/+/telegram": "dsmr_p1",
    "tele/+/SENSOR": "tasmota_sml",
    "shellies/#": "shelly_3em",
    "+/events/rpc": "shelly_3em",
    "sma/keller": "dsmr_p1",
}


def rules(**dialects: str) -> DialectRules:
    return DialectRules(Settings(dialects=dialects or RULES))


@pytest.mark.parametrize(
    ("topic", "dialect", "key"),
    [
        ("p1/haus-7/telegram", "dsmr_p1", b"haus-7"),
        ("tele/haus-7/SENSOR", "tasmota_sml", b"haus-7"),
        ("shellies/haus-7/emeter/0/power", "shelly_3em", b"haus-7"),
        ("shellies", "shelly_3em", b"shellies"),
        ("haus-7/events/rpc", "shelly_3em", b"haus-7"),
        ("sma/keller", "dsmr_p1", b"keller"),
        # No rule names these: the payload may tell a better key.
        ("sma", "adapter_json", b""),
        ("sma/dach", "adapter_json", b""),
        ("p1/haus-7/other", "adapter_json", b""),
        ("tele/a/b/SENSOR", "adapter_json", b""),
        ("$SYS/events/rpc", "adapter_json", b""),
    ],
)
def test_a_record_gets_the_dialect_of_its_topic_and_a_key(topic: str, dialect: str, key: bytes) -> None:
    marks = rules().marks(topic)
    assert marks.dialect == dialect
    assert marks.headers == [("strom-dialect", dialect.encode()), ("strom-topic", topic.encode())]
    assert marks.key == key


def test_the_first_rule_that_matches_counts() -> None:
    assert rules(**{"a/b": "shelly_3em", "a/+": "dsmr_p1"}).dialect("a/b") == "shelly_3em"
    assert rules(**{"a/+": "dsmr_p1", "a/b": "shelly_3em"}).dialect("a/b") == "dsmr_p1"


def test_no_topic_is_asked_for_twice() -> None:
    assert rules().filters == ["sma", "sma/+", "p1/+/telegram", "tele/+/SENSOR", "shellies/#", "+/events/rpc"]
    assert rules(**{"sma/#": "dsmr_p1"}).filters == ["sma/#"]
    assert DialectRules(Settings()).filters == ["sma", "sma/+"]


def test_topics_that_a_stranger_invents_do_not_fill_the_memory() -> None:
    asked = rules()
    for number in range(3 * MOST_KNOWN):
        asked.marks(f"p1/{number}/telegram")
    assert len(asked._known) <= MOST_KNOWN
    before = len(asked._known)
    assert asked.marks("p1/" + "x" * 60_000 + "/telegram").key == b"x" * 60_000
    assert len(asked._known) == before
    assert asked.marks("p1/haus-7/telegram") is asked.marks("p1/haus-7/telegram")


levels = st.sampled_from(["a", "b", "", "$x", "+"])


@given(st.lists(levels, min_size=1, max_size=4), st.booleans(), st.lists(levels, min_size=1, max_size=4))
def test_filters_match_as_another_client_says(pattern: list[str], below: bool, topic: list[str]) -> None:
    topic_filter, name = "/".join([*pattern, *(["#"] if below else [])]), "/".join(topic).replace("+", "c")
    if not topic_filter or not name:
        return
    matched = rules(**{topic_filter: "dsmr_p1"}).dialect(name) == "dsmr_p1"
    assert matched == topic_matches_sub(topic_filter, name)


def test_what_is_no_longer_wanted_is_remembered(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, bridge=BridgeSettings(client_id="a/b"))
    first = Subscriptions(settings, ["sma", "sma/+", "tele/+/SENSOR"])
    assert first.stale() == []
    first.remember()
    second = Subscriptions(settings, ["sma", "sma/+"])
    assert second.stale() == ["tele/+/SENSOR"]
    second.remember()
    assert second.stale() == []
    shared = Settings(home=tmp_path, bridge=BridgeSettings(client_id="a/b", share="fleet"))
    assert Subscriptions(shared, ["sma", "sma/+"]).stale() == ["sma", "sma/+"]
    assert Subscriptions(shared, ["sma"]).wanted == ["$share/fleet/sma"]


def test_a_spoilt_memory_is_none(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    one = Subscriptions(settings, ["sma"])
    one.remember()
    (tmp_path / "run" / "subscriptions-strom-bridge.json").write_text("{")
    assert one.stale() == []
