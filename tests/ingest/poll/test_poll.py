"""`strom poll` as users run it: every push of a box is in Kafka once, byte for byte, also when Kafka was away."""

import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from strom.devices import adapter_json
from strom.devices.box import RunningBox, running_box
from strom.errors import StromError
from strom.ingest.meter_key import meter_key
from strom.ingest.poll.hold import Hold
from strom.ingest.poll.poller import Poller
from strom.settings import MODBUS, REST, AdapterSettings, BridgeSettings, PollSettings, Settings
from strom.stack.state import status
from strom.stack.supervisor import Stack
from strom.streams.record import Record
from strom.streams.topics import HEADER_DIALECT, HEADER_RECEIVED, HEADER_SOURCE
from tests.conftest import free_ports, settings_in
from tests.ingest.bridging import await_raw, raw_records, until
from tests.ingest.poll.going import modbus, rest
from tests.outages import halted
from tests.running import Running, running, start

pytestmark = pytest.mark.stack

OFTEN = {"interval": "0.1s"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A Kafka that these tests may stop."""
    with Stack(settings_in(tmp_path_factory.mktemp("servers")), ["kafka"]) as found:
        yield found


@pytest.fixture
def box(tmp_path: Path) -> Iterator[RunningBox]:
    with running_box(tmp_path / "box", name="haus-21") as found:
        yield found


def asking(
    settings: Settings, home: Path, adapters: dict[str, AdapterSettings], linger_ms: int = 5, **poll: object
) -> Settings:
    """Settings of a poller of its own at these servers."""
    given = {"status_seconds": 0.1, "metrics_port": free_ports(1)[0]} | poll
    return Settings(
        home=home,
        kafka=settings.kafka.model_copy(update={"bootstrap": settings.kafka_bootstrap}),
        adapters=adapters,
        bridge=BridgeSettings(linger_ms=linger_ms),
        poll=PollSettings.model_validate(given),
    )


def polling(settings: Settings, which: str = "all") -> AbstractContextManager[Running]:
    return running(settings, "poll", "poll", which)


def told(settings: Settings) -> str:
    port = settings.poll.metrics_port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
        text: str = page.read().decode()
    return text


def push_and_await(box: RunningBox, settings: Settings, times: int) -> list[bytes]:
    """Each push is asked for before the next one comes; whether Kafka is there or not."""
    pushed: list[bytes] = []
    for _ in range(times):
        before = _taken(settings)
        box.push()
        payload = box.last_payload()
        assert payload is not None
        pushed.append(payload)
        until(lambda: _taken(settings) > before, "the push is taken")  # noqa: B023 - asked at once
    return pushed


def _taken(settings: Settings) -> float:
    return float(told(settings).split("\nstrom_poll_taken_total ")[1].split("\n")[0])


def test_every_push_reaches_kafka_once_as_it_came(
    stack: Settings, tmp_path: Path, box: RunningBox, unique: Callable[[str], str]
) -> None:
    entry = unique("keller")
    first = box.last_payload()
    settings = asking(stack, tmp_path, {entry: rest(box, **OFTEN)})
    with polling(settings, "rest") as poller:
        await_raw(settings, entry, 1)
        pushed = [first, *push_and_await(box, settings, 5)]
        records = await_raw(settings, entry, len(pushed))
        assert poller.stop() == 0
    assert [record.value for record in records] == pushed
    assert {record.key for record in records} == {b"haus-21"}
    assert _headers(records[0]) == ("rest", "adapter_json", True)
    assert f"forwarded {len(pushed)}" in poller.log


def test_a_reading_by_modbus_is_the_one_by_rest(
    stack: Settings, tmp_path: Path, box: RunningBox, unique: Callable[[str], str]
) -> None:
    by_rest, by_modbus = unique("rest"), unique("modbus")
    adapters = {by_rest: rest(box, **OFTEN), by_modbus: modbus(box, **OFTEN)}
    settings = asking(stack, tmp_path, adapters)
    with polling(settings):
        readings = [_reading(await_raw(settings, entry, 1)[0]) for entry in (by_rest, by_modbus)]
    same = ("meter", "meter_number", "import_wh", "export_wh", "import_w", "voltage_l1_v", "current_l3_a")
    assert [readings[1][name] for name in same] == [readings[0][name] for name in same]
    assert _headers(raw_records(settings, by_modbus)[0]) == ("modbus", "adapter_json", True)


def test_a_box_without_a_name_is_told_by_its_entry(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    entry = unique("keller")
    with running_box(tmp_path / "nameless", dialect="nameless") as nameless:
        settings = asking(stack, tmp_path, {entry: rest(nameless)})
        with polling(settings, "rest"):
            [record] = await_raw(settings, entry, 1)
    assert record.key == entry.encode()
    assert _reading(record)["meter"] == entry


def test_metrics_tell_how_each_adapter_is(
    stack: Settings, tmp_path: Path, box: RunningBox, unique: Callable[[str], str]
) -> None:
    good, bad = unique("good"), unique("bad")
    settings = asking(stack, tmp_path, {good: rest(box, **OFTEN), bad: rest(box, token="falsch", **OFTEN)})
    with polling(settings):
        until(lambda: f'strom_poll_failures_total{{adapter="{bad}",kind="token"}}' in told(settings))
        until(lambda: f'strom_poll_rssi_dbm{{adapter="{good}"}} -61.0' in told(settings))
        page = told(settings)
    assert f'strom_poll_up{{adapter="{good}"}} 1.0' in page
    assert f'strom_poll_up{{adapter="{bad}"}} 0.0' in page
    assert "strom_poll_adapters 2.0" in page


def test_a_kafka_that_is_away_costs_no_push(servers: Stack, tmp_path: Path, box: RunningBox) -> None:
    settings = asking(servers.settings, tmp_path, {"away": rest(box, **OFTEN)})
    with polling(settings, "rest") as poller:
        first = box.last_payload()
        await_raw(settings, "away", 1)
        with halted(servers):
            pushed = [first, *push_and_await(box, settings, 30)]
            poller.await_log("Kafka does not confirm; holding what comes")
        poller.await_log("Kafka confirms again")
        records = await_raw(settings, "away", len(pushed))
        assert "strom_poll_away_total 1.0" in told(settings)
        assert poller.stop() == 0
    assert [record.value for record in records] == pushed
    assert poller.log.count("Kafka does not confirm") == 1


def test_what_cannot_be_held_stops_the_asking_until_kafka_is_back(
    servers: Stack, tmp_path: Path, box: RunningBox
) -> None:
    settings = asking(servers.settings, tmp_path, {"full": rest(box, **OFTEN)}, hold_messages=5)
    with polling(settings, "rest") as poller:
        pushed = [box.last_payload()]
        await_raw(settings, "full", 1)
        with halted(servers):
            pushed += push_and_await(box, settings, 5)
            poller.await_log("5 pushes are held and no more can be: asking stops until Kafka takes them")
            box.push()  # nobody asks for this one
            box.push()
        poller.await_log("asking goes on")
        pushed.append(box.last_payload())
        records = await_raw(settings, "full", len(pushed))
        assert "strom_poll_full_total 1.0" in told(settings)
    assert [record.value for record in records] == pushed


def test_a_poller_started_before_kafka_holds_what_it_hears(
    servers: Stack, tmp_path: Path, box: RunningBox
) -> None:
    settings = asking(servers.settings, tmp_path, {"early": rest(box, **OFTEN)})
    with halted(servers):
        poller = start(settings, "poll", "poll", "rest")
        poller.await_log("does not answer")
        pushed = [box.last_payload(), *push_and_await(box, settings, 3)]
    poller.await_ready()
    records = await_raw(settings, "early", len(pushed))
    assert poller.stop() == 0
    assert [record.value for record in records] == pushed
    assert poller.log.count("does not answer") == 1


def test_a_batch_that_may_grow_for_long_is_no_kafka_that_is_away(
    stack: Settings, tmp_path: Path, box: RunningBox, unique: Callable[[str], str]
) -> None:
    entry = unique("patient")
    settings = asking(stack, tmp_path, {entry: rest(box, **OFTEN)}, linger_ms=5000)
    with polling(settings, "rest") as poller:
        await_raw(settings, entry, 1)
        push_and_await(box, settings, 1)
        await_raw(settings, entry, 2)
        assert "strom_poll_away_total 0.0" in told(settings)
        assert poller.stop() == 0
    assert "Kafka does not confirm" not in poller.log


def test_a_poller_that_is_stopped_does_not_wait_until_its_batches_have_grown(
    stack: Settings, tmp_path: Path, box: RunningBox, unique: Callable[[str], str]
) -> None:
    entry = unique("stopped")
    settings = asking(stack, tmp_path, {entry: rest(box, **OFTEN)}, linger_ms=60_000)
    with polling(settings, "rest") as poller:
        until(lambda: _taken(settings) == 1, "the first push is taken")
        pushed = [box.last_payload(), *push_and_await(box, settings, 2)]
        assert poller.stop() == 0
    assert [record.value for record in raw_records(settings, entry)] == pushed
    assert "are lost" not in poller.log


def test_the_poller_is_a_part_of_the_stack_where_adapters_are_set(tmp_path: Path, box: RunningBox) -> None:
    settings = settings_in(tmp_path / "home").model_copy(update={"adapters": {"keller": rest(box)}})
    with Stack(settings, ["kafka", "poll"]):
        found = status(settings)
        assert (found["poll"]["state"], found["poll"]["restarts"]) == ("running", 0)
        assert found["poll"]["address"].startswith("1 adapter → ")
        assert await_raw(settings, "keller", 1)
    assert status(settings)["poll"]["state"] == "stopped"


def _headers(record: Record) -> tuple[str | None, str | None, bool]:
    received = record.header(HEADER_RECEIVED) or ""
    return record.header(HEADER_SOURCE), record.header(HEADER_DIALECT), received.isdecimal()


def _reading(record: Record) -> dict[str, object]:
    """As the pipeline makes it."""
    received = int(record.header(HEADER_RECEIVED) or 0)
    return adapter_json.decode(
        record.value or b"", received_ms=received, topic=record.header("strom-topic"), source="rest"
    )


def test_a_fault_of_ours_with_one_adapter_is_told_and_counted_and_asking_goes_on(
    servers: Stack,
    tmp_path: Path,
    box: RunningBox,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    faults = ["keller"]

    def key(payload: bytes, topic: str, base: str) -> bytes:
        if topic in faults:
            faults.remove(topic)
            raise ValueError("injected")
        return meter_key(payload, topic, base)

    monkeypatch.setattr("strom.ingest.poll.poller.meter_key", key)
    adapters = {"keller": rest(box, **OFTEN), "dach": modbus(box, **OFTEN)}
    asked = Poller(asking(servers.settings, tmp_path, adapters), (REST, MODBUS))
    thread = Thread(target=asked.run)
    thread.start()
    try:
        until(lambda: asked.counters.background_restarts == 1, "the failure")
        box.push()
        until(lambda: all(rounds.asked.pushes >= 2 for rounds in asked.rounds), "a push of both afterwards")
        until(lambda: asked.counters.forwarded >= 3, "they are in Kafka")
    finally:
        asked.stop()
        thread.join()
    assert "asking keller failed (ValueError: injected); it is started again in" in caplog.text


def test_a_poller_that_cannot_send_any_more_ends_with_a_sentence(
    servers: Stack, tmp_path: Path, box: RunningBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(hold: Hold, **_: Any) -> None:
        raise ValueError("injected")

    monkeypatch.setattr(Hold, "_step", step)
    asked = Poller(asking(servers.settings, tmp_path, {"keller": rest(box, **OFTEN)}), (REST,))
    with pytest.raises(
        StromError, match=r"sending to Kafka failed \(ValueError: injected\); the poller ends"
    ):
        asked.run()
