"""Which messages a thinning bridge carries: real payloads in, and what cannot be read always goes on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import mqtt5
import pytest

from strom.devices.registry import DIALECTS
from strom.errors import StromError
from strom.ingest.counters import Counters
from strom.ingest.dialect_rules import DialectRules
from strom.ingest.thinner import Thinner, thinner_of
from strom.settings import BridgeSettings, Settings

PAYLOADS = Path(__file__).parents[1] / "payloads"
START = 1_763_230_500  # the start of a quarter-hour, and of the hour's second one
RECEIVED_MS = (START + 900) * 1000


def thinner(**bridge: object) -> Thinner:
    made = wished(Settings(bridge=BridgeSettings.model_validate(bridge)))
    assert made is not None
    return made


def wished(settings: Settings, counters: Counters | None = None) -> Thinner | None:
    return thinner_of(settings, DialectRules(settings), counters or Counters())


def message(
    second: float = 0, name: str = "haus-21", topic: str = "sma", **values: int
) -> mqtt5.PublishPacket:
    """One push; `import_wh=5` is what its register 1.8.0 says."""
    codes = {"import_wh": "1-0:1.8.0", "export_wh": "1-0:2.8.0", "import_w": "1-0:1.7.0"}
    content: dict[str, object] = {"name": name, "sma_time": second}
    for field, value in ({"import_wh": 1} | values).items():
        content[codes[field]] = {"value": value, "time": START + second}
    return mqtt5.PublishPacket(topic, json.dumps(content).encode())


def kept(by: Thinner, *messages: mqtt5.PublishPacket) -> list[mqtt5.PublishPacket]:
    return by.sift(list(messages), RECEIVED_MS)


def test_without_a_wish_there_is_no_thinner() -> None:
    assert wished(Settings()) is None


def test_each_meter_has_windows_of_its_own() -> None:
    one = [message(second, "one") for second in (0, 5, 10, 15)]
    two = [message(second, "two") for second in (5, 10, 15, 20)]
    assert kept(thinner(every="15s"), *one, *two) == [one[0], one[3], two[0], two[2]]


def test_on_change_looks_at_registers_and_not_at_times() -> None:
    same, other = message(5), message(10, import_wh=2)
    assert kept(thinner(on_change=True), message(0), same, other)[1:] == [other]


def test_a_register_that_comes_or_goes_is_a_change() -> None:
    more = message(5, import_w=300)
    assert kept(thinner(on_change=True), message(0), more) == [message(0), more]


def test_what_cannot_be_understood_goes_on_every_time() -> None:
    names = ("not-json.txt", "array.json", "no-register.json")
    strange = [mqtt5.PublishPacket("sma", (PAYLOADS / name).read_bytes()) for name in names] * 3
    assert kept(thinner(every="60s", on_change=True), *strange) == strange


def test_a_fault_in_a_decoder_lets_its_messages_go_on_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(payload: bytes, **_: object) -> NoReturn:
        raise RecursionError("a fault of ours")

    faulty = {"adapter_json": replace(DIALECTS["adapter_json"], decode=broken)}
    monkeypatch.setattr("strom.ingest.thinner.dialects_of", lambda _: DIALECTS | faulty)
    same = [message(0)] * 3
    assert kept(thinner(every="60s"), *same) == same
    assert caplog.text.count("a message in adapter_json could not be read") == 1


def test_telegrams_are_thinned() -> None:
    by = wished(Settings(bridge=BridgeSettings(every="60s"), dialects={"p1/#": "dsmr_p1"}))
    assert by is not None
    telegram = mqtt5.PublishPacket("p1/haus-7", (PAYLOADS / "dsmr_p1" / "v5.txt").read_bytes())
    assert kept(by, telegram, telegram) == [telegram]


def test_power_without_a_counter_is_not_thinned_by_time() -> None:
    def power(second: int, watts: int) -> mqtt5.PublishPacket:
        content = {"name": "m", "1-0:1.7.0": {"value": watts, "time": START + second}}
        return mqtt5.PublishPacket("sma", json.dumps(content).encode())

    pushes = [power(second, 100 + second) for second in (0, 5, 10)]
    assert kept(thinner(every="60s"), *pushes) == pushes


def test_a_shelly_that_tells_counters_once_a_minute_keeps_each_of_them_and_power_is_thinned() -> None:
    dialects = {"+/events/rpc": "shelly_3em"}
    by = wished(Settings(bridge=BridgeSettings(every="15s"), dialects=dialects))
    assert by is not None
    topic = "shellypro3em-1234567890ab/events/rpc"

    def told(sample: str, component: str, second: int) -> mqtt5.PublishPacket:
        content = json.loads((PAYLOADS / "shelly_3em" / sample).read_bytes())
        content["params"]["ts"] = START + second
        content["params"][component]["total_act_power" if component == "em:0" else "total_act"] = second
        return mqtt5.PublishPacket(topic, json.dumps(content).encode())

    now = [told("pro-em.json", "em:0", second) for second in range(0, 900, 3)]
    counters = [told("pro-emdata.json", "emdata:0", second) for second in range(1, 900, 60)]
    sent = sorted([*now, *counters], key=lambda each: float(json.loads(each.payload)["params"]["ts"]))
    went_on = by.sift(sent, RECEIVED_MS)
    assert [each for each in went_on if each in counters] == counters
    assert 60 <= len(went_on) - len(counters) <= 65


def test_an_adapter_that_sends_each_register_alone_keeps_the_counters_around_the_border() -> None:
    def alone(code: str, second: int) -> mqtt5.PublishPacket:
        content = {"name": "m", f"1-0:{code}": {"value": second, "time": START + second}}
        return mqtt5.PublishPacket("sma", json.dumps(content).encode())

    sent = [alone(code, second) for second in range(0, 1800, 5) for code in ("32.7.0", "21.7.0", "1.8.0")]
    went_on = thinner(every="15s").sift(sent, RECEIVED_MS + 900_000)
    for code in ("32.7.0", "21.7.0", "1.8.0"):
        seconds = [second for second in range(0, 1800, 5) if alone(code, second) in went_on]
        assert seconds == [*range(0, 900, 15), 890, 895, *range(900, 1800, 15), 1790, 1795]


def test_more_kinds_of_messages_than_it_remembers_go_on_once_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("strom.ingest.thinner.MOST_TRACES", 3)
    by = thinner(every="60s")
    three = [message(0, name) for name in ("a", "b", "c")]
    assert kept(by, *three, *three) == three
    fourth = message(0, "d")
    assert kept(by, fourth, *three) == [fourth, *three]
    assert kept(by, *three) == []
    assert kept(by, fourth, fourth) == [fourth, fourth]
    assert caplog.text.count("more than 3 kinds of messages") == 1


def test_after_a_lost_connection_everything_goes_on_once_more() -> None:
    by = thinner(every="60s")
    assert kept(by, message(0), message(5)) == [message(0)]
    by.forget()
    assert kept(by, message(0), message(5)) == [message(0)]


def test_what_is_left_out_is_counted() -> None:
    counters = Counters()
    by = wished(Settings(bridge=BridgeSettings(every="15s")), counters)
    assert by is not None
    kept(by, message(0), message(5), message(10))
    assert counters.thinned == 2


def test_windows_longer_than_a_minute_are_refused() -> None:
    with pytest.raises(StromError, match=r"bridge\.every is 2m: choose at most 60s"):
        thinner(every="2m")
