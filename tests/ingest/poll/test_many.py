"""Thousands of adapters in one process, while Kafka is away: each is asked in its turn, one request at a time."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from strom.devices.sunspec import METER, Identity, encode_map
from strom.errors import StromError
from strom.ingest.poll import poller as polling
from strom.ingest.poll.poller import Poller
from strom.open_files import allow_sockets
from strom.settings import MODBUS, REST, AdapterSettings, KafkaSettings, PollSettings, Settings
from tests.conftest import free_ports
from tests.ingest.poll.boxes import Box, certificate_of, http, https_box, modbus_box, play, until
from tests.ingest.poll.test_modbus import Registers

MODBUS_ADAPTERS, REST_ADAPTERS = 2500, 250


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start takes its time for the sake of real boxes; and Kafka never comes."""
    monkeypatch.setattr(polling, "STARTS_PER_SECOND", 2000)
    monkeypatch.setattr(polling, "STOP_SECONDS", 0.0)


def without_kafka(home: Path, adapters: dict[str, AdapterSettings], **poll: int) -> Settings:
    [port] = free_ports(1)
    kafka = KafkaSettings(bootstrap=f"127.0.0.1:{port}")
    return Settings(home=home, kafka=kafka, adapters=adapters, poll=PollSettings.model_validate(poll))


@contextmanager
def running(poller: Poller) -> Iterator[None]:
    thread = threading.Thread(target=poller.run)
    thread.start()
    try:
        yield
    finally:
        poller.stop()
        thread.join()


def test_thousands_of_adapters_are_asked_again_and_again_one_request_each(tmp_path: Path) -> None:
    allow_sockets(3 * (MODBUS_ADAPTERS + REST_ADAPTERS))  # both ends are here
    certificate = certificate_of(tmp_path)
    device = Registers().put(40_000, encode_map(Identity("sma_AAEA40", "m"), {"import_w": Decimal(5)}))

    async def scene() -> tuple[Box, Box, Poller]:
        async with (
            modbus_box(device) as by_modbus,
            https_box(lambda _: http(), certificate.context()) as by_rest,
        ):
            adapters = {
                f"m{number}": by_modbus.settings(by=MODBUS, interval="1s", timeout_seconds=60)
                for number in range(MODBUS_ADAPTERS)
            } | {
                f"r{number}": by_rest.settings(
                    fingerprint=certificate.fingerprint, interval="1s", timeout_seconds=60
                )
                for number in range(REST_ADAPTERS)
            }
            poller = Poller(without_kafka(tmp_path, adapters, status_seconds=0), (REST, MODBUS))
            with running(poller):
                await until(lambda: _least(poller) >= 3)
            return by_modbus, by_rest, poller

    by_modbus, by_rest, poller = play(scene(), seconds=120)
    assert (by_modbus.connections, by_rest.connections) == (MODBUS_ADAPTERS, REST_ADAPTERS)
    assert by_rest.most_at_once <= REST_ADAPTERS
    assert poller.counters.taken == MODBUS_ADAPTERS + REST_ADAPTERS  # the same push again is no new one
    assert poller.counters.held == poller.counters.taken


def test_each_adapter_is_asked_at_its_own_interval(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)
    device = Registers().put(40_000, encode_map(Identity("sma_AAEA40", "m"), {"import_w": Decimal(5)}))

    async def scene() -> list[int]:
        async with (
            https_box(lambda _: http(), certificate.context()) as hourly,
            https_box(lambda _: http(), certificate.context()) as often,
            https_box(lambda _: http(), certificate.context()) as seldom,
            modbus_box(device) as daily,
        ):
            rest = {"fingerprint": certificate.fingerprint, "timeout_seconds": 60}
            adapters = {
                "hourly": hourly.settings(interval="1h", **rest),
                "often": often.settings(interval="0.1s", **rest),
                "seldom": seldom.settings(interval="1s", **rest),
                "daily": daily.settings(by=MODBUS, interval="1d", timeout_seconds=60),
            }
            poller = Poller(without_kafka(tmp_path, adapters, status_seconds=0), (REST, MODBUS))
            with running(poller):
                await until(lambda: len(often.requests) >= 30 and len(seldom.requests) >= 2)
                await until(lambda: _least(poller) >= 1 and poller.counters.taken == len(adapters))
            readings = [each for each in daily.requests if each[1] == METER.size]
            return [len(each) for each in (hourly.requests, often.requests, seldom.requests, readings)]

    hourly, often, seldom, daily = play(scene())
    assert (hourly, daily) == (1, 1)
    assert 2 * seldom < often


def test_never_more_than_one_request_of_an_adapter_is_under_way(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)
    device = Registers().put(40_000, encode_map(Identity("sma_AAEA40", "m"), {"import_w": Decimal(5)}))

    async def by_rest(_: object) -> bytes:
        await asyncio.sleep(0.05)  # in which its time to be asked comes again and again
        return http()

    async def by_modbus(frame: bytes) -> bytes:
        await asyncio.sleep(0.05)
        return device(frame)

    async def scene() -> tuple[Box, Box]:
        async with https_box(by_rest, certificate.context()) as rest, modbus_box(by_modbus) as modbus:
            adapters = {
                "rest": rest.settings(fingerprint=certificate.fingerprint, interval="0.01s"),
                "modbus": modbus.settings(by=MODBUS, interval="0.01s"),
            }
            settings = without_kafka(tmp_path, adapters, status_seconds=1)
            with running(Poller(settings, (REST, MODBUS))):
                await until(lambda: min(len(rest.requests), len(modbus.requests)) >= 30)
            return rest, modbus

    for box in play(scene()):
        assert (box.most_at_once, box.most_open) == (1, 1)


def test_when_no_more_can_be_held_asking_stops_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate = certificate_of(tmp_path)
    caplog.set_level(logging.INFO, "strom.poll")
    number = [0]

    def respond(_: object) -> bytes:
        number[0] += 1
        return http(b'{"n":%d}' % number[0])

    async def scene() -> tuple[Box, Poller]:
        async with https_box(respond, certificate.context()) as box:
            settings = box.settings(fingerprint=certificate.fingerprint, interval="0.01s")
            poller = Poller(
                without_kafka(tmp_path, {"a": settings}, hold_messages=7, status_seconds=0), (REST,)
            )
            with running(poller):
                await until(lambda: poller.counters.full)
                await asyncio.sleep(0.2)  # in which a poller that goes on would ask twenty times
            return box, poller

    box, poller = play(scene())
    assert (poller.counters.taken, len(box.requests), poller.counters.full) == (7, 7, 1)
    told = [record.getMessage() for record in caplog.records]
    assert [line for line in told if "asking stops until Kafka takes them" in line] == [
        "7 pushes are held and no more can be: asking stops until Kafka takes them"
    ]
    assert "Kafka has not confirmed 7 pushes; they are lost" in told


@pytest.mark.parametrize(("ways", "words"), [((REST,), "rest"), ((REST, MODBUS), "rest or modbus")])
def test_without_an_adapter_of_that_kind_it_says_what_to_set(ways: tuple[str, ...], words: str) -> None:
    adapters = {"a": AdapterSettings(by="modbus", address="h")} if ways == (REST,) else {}
    with pytest.raises(StromError, match=f"asked by {words}: put \\[adapters.NAME\\]"):
        Poller(Settings(adapters=adapters), ways)


def test_an_authority_that_cannot_be_read_is_refused_at_the_start(tmp_path: Path) -> None:
    adapter = AdapterSettings(by="rest", address="h", ca_file=tmp_path / "missing.pem")
    poller = Poller(without_kafka(tmp_path, {"a": adapter}), (REST,))
    with pytest.raises(StromError, match=r"missing.pem cannot be read \(No such file"):
        poller.run()


def _least(poller: Poller) -> float:
    """How often the adapter was asked that was asked least."""
    return min((rounds.asked.polls for rounds in poller.rounds), default=0)
