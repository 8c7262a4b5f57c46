"""An adapter's rounds: every push once, one request at a time, and what the adapter tells about itself as metrics."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from strom.devices import adapter_json
from strom.devices.box import RunningBox, running_box
from strom.devices.box.rest import MEASUREMENT
from strom.devices.simulator.dialects import DIALECTS, ON_REQUEST
from strom.ingest.poll.rest import STATUS
from tests.ingest.poll.boxes import Request, certificate_of, http, https_box, play, until
from tests.ingest.poll.going import going, modbus, rest, told_of_troubles


@pytest.fixture
def box(tmp_path: Path) -> Iterator[RunningBox]:
    with running_box(tmp_path) as running:
        yield running


def test_every_push_is_sent_once_byte_for_byte_however_often_it_is_asked_for(box: RunningBox) -> None:
    async def scene() -> None:
        pushed: list[bytes | None] = []
        async with going(rest(box)) as seen:
            for number in range(1, 6):
                pushed.append(box.last_payload())
                await until(lambda: len(seen.sent) == number)  # noqa: B023 - asked at once
                repeats = seen.rounds.asked.repeats
                await until(lambda: seen.rounds.asked.repeats > repeats + 1)  # noqa: B023
                box.push()
            asked = seen.rounds.asked
            assert (asked.pushes, asked.polls >= 15) == (len(seen.sent), True)
        assert seen.sent[:5] == pushed

    play(scene())


def test_only_one_connection_is_held_whatever_is_asked(box: RunningBox) -> None:
    async def scene() -> None:
        async with going(rest(box), status_seconds=0.01) as seen:
            await until(lambda: box.box.rest.answers >= 20)
            assert (box.box.connections.open, seen.rounds.asked.up) == (1, 1)
        await until(lambda: box.box.connections.open == 0)

    play(scene())


def test_an_adapter_is_never_asked_while_its_answer_is_under_way(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)

    async def slow(request: Request) -> bytes:
        await asyncio.sleep(0.05)
        return http(json.dumps({"path": request.path}).encode())

    async def scene() -> None:
        async with https_box(slow, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint)
            async with going(adapter, interval=0.001, status_seconds=0.001):
                await until(lambda: len(server.requests) >= 20)
            assert (server.most_at_once, server.most_open) == (1, 1)

    play(scene())


@pytest.mark.parametrize("path", MEASUREMENT)
def test_whichever_path_the_box_has_is_found_and_remembered(tmp_path: Path, path: str) -> None:
    certificate = certificate_of(tmp_path)

    def respond(request: Request) -> bytes:
        return http(b"{}") if request.path == path else http(b"", 404)

    async def scene() -> list[str]:
        async with https_box(respond, certificate.context()) as server:
            async with going(server.settings(fingerprint=certificate.fingerprint)) as seen:
                await until(lambda: seen.rounds.asked.polls >= 10)
            assert seen.rounds.asked.up
            return [request.path for request in server.requests]

    paths = play(scene())
    assert len([each for each in paths if each != path]) < len(MEASUREMENT)
    assert set(paths[len(MEASUREMENT) :]) == {path}


def test_a_path_of_the_settings_is_the_only_one_asked_for(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)

    async def scene() -> set[str]:
        async with https_box(lambda _: http(b"", 404), certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint, path="/my/own")
            async with going(adapter):
                await until(lambda: len(server.requests) > 3)
            return {request.path for request in server.requests}

    assert play(scene()) == {"/my/own"}


def test_what_the_box_tells_about_itself_becomes_metrics(box: RunningBox) -> None:
    async def scene() -> dict[str, float]:
        async with going(rest(box), status_seconds=0.01) as seen:
            await until(lambda: "strom_poll_rssi_dbm" in seen.told)
            for _ in range(3):
                box.push()
            await until(lambda: seen.told["strom_poll_valid_packages"] == 4)
            return seen.told

    told = play(scene())
    assert told["strom_poll_rssi_dbm"] == -61
    assert told["strom_poll_invalid_packages"] == 0
    [info] = [name for name in told if name.startswith("strom_poll_info")]
    assert 'firmware="1.3.0"' in info
    assert 'interface="M-Bus"' in info


def test_a_new_firmware_takes_the_place_of_the_old_one_and_odd_values_are_no_numbers(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)
    firmware = ["1"]

    def respond(request: Request) -> bytes:
        status = {"fw_version": firmware[0], "wifi": "on", "meter_valid_package_cnt": "7", "meter": [1]}
        return http(json.dumps(status).encode() if request.path in STATUS else b"{}")

    async def scene() -> list[str]:
        async with https_box(respond, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint)
            async with going(adapter, status_seconds=0.01) as seen:
                await until(lambda: any('firmware="1"' in name for name in seen.told))
                firmware[0] = "2"
                await until(lambda: any('firmware="2"' in name for name in seen.told))
                assert seen.told["strom_poll_valid_packages"] == 7
                assert seen.told["strom_poll_rssi_dbm"] != seen.told["strom_poll_rssi_dbm"]  # NaN
                return [name for name in seen.told if name.startswith("strom_poll_info")]

    assert len(play(scene())) == 1


@pytest.mark.parametrize("answer", [http(b"", 404), http(b"[]"), http(b"", 500)])
def test_a_box_without_a_status_is_asked_for_its_measurement_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    certificate = certificate_of(tmp_path)
    number = [0]

    def respond(request: Request) -> bytes:
        number[0] += 1
        return answer if request.path in STATUS else http(b'{"n":%d}' % number[0])

    async def scene() -> None:
        async with https_box(respond, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint)
            async with going(adapter, status_seconds=0.01) as seen:
                await until(lambda: len(seen.sent) > 10)
                assert seen.rounds.asked.up
                assert (seen.rounds.asked.status_failures > 0) == (b"404" not in answer)

    told = told_of_troubles(caplog)
    play(scene())
    assert [line.startswith("keller, its status: ") for line in told()] == [True] * (b"404" not in answer)


# What Modbus tells as 0 of a meter that says nothing of it, by dialect: docs/decisions/a-counter-of-0-by-modbus.md.
ZERO_BY_MODBUS = {"single": {"export_w"}, "import-only": {"export_w", "export_wh"}}
CLOCKS = {"at", "clock", "flags"}  # model 203 has none


@pytest.mark.parametrize("dialect", [dialect.name for dialect in (*DIALECTS, *ON_REQUEST)])
def test_the_reading_by_modbus_is_the_one_by_rest_and_mqtt_of_the_same_push(
    tmp_path: Path, dialect: str
) -> None:
    """Model 203 has no clock, no tariffs and no other registers; what it has must be the same."""

    async def scene(box: RunningBox) -> tuple[bytes, bytes]:
        async with going(rest(box)) as by_rest, going(modbus(box)) as by_modbus:
            await until(lambda: by_rest.sent and by_modbus.sent)
            return by_rest.sent[0], by_modbus.sent[0]

    with running_box(tmp_path, dialect=dialect, name="haus-21") as box:
        first, second = play(scene(box))
        assert first == box.last_payload()  # the bytes that MQTT sends
        by_mqtt, by_modbus = (
            adapter_json.decode(payload, received_ms=box.clock.now_ms, topic="sma/keller")
            for payload in (first, second)
        )
    more = by_modbus.keys() - by_mqtt.keys() - CLOCKS
    assert (more, {by_modbus[name] for name in more}) == (
        ZERO_BY_MODBUS.get(dialect, set()),
        {0} if more else set(),
    )
    for name in by_modbus.keys() - more - CLOCKS:
        value = by_mqtt[name]
        # A counter there has whole units.
        assert by_modbus[name] == (int(value) if name.endswith("h") else value), name
    missing = by_mqtt.keys() - by_modbus.keys() - CLOCKS - {"other"}
    assert not [name for name in missing if re.search(r"_t[1-4]_wh$", name) is None]
