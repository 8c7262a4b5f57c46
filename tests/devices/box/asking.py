"""How tests ask a box: over real sockets, with clients that know nothing of Strom."""

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from pymodbus.client import ModbusTcpClient
from sunspec2.modbus.client import SunSpecModbusClientDeviceTCP

from strom.devices.box import RunningBox
from strom.devices.sunspec import BASE, COMMON, METER

SECONDS = 20.0  # after which a wait has failed
METER_AT = BASE + 2 + COMMON.size


@contextmanager
def rest(box: RunningBox, token: str | None = None) -> Iterator[httpx.Client]:
    """A client that trusts the box's certificate and has its token, unless given another."""
    headers = {"Authorization": f"TOKEN {box.token if token is None else token}"}
    context = ssl.create_default_context(cafile=str(box.certificate_file))
    url = f"https://{box.host}:{box.rest_port}"
    with httpx.Client(
        base_url=url, verify=context, headers=headers, timeout=SECONDS, trust_env=False
    ) as client:
        yield client


@contextmanager
def modbus(box: RunningBox) -> Iterator[ModbusTcpClient]:
    client = ModbusTcpClient(box.host, port=box.modbus_port, timeout=SECONDS, retries=0)
    assert client.connect()  # type: ignore[no-untyped-call]
    try:
        yield client
    finally:
        client.close()  # type: ignore[no-untyped-call]


@contextmanager
def sunspec(box: RunningBox) -> Iterator[Any]:
    """SunSpec's own client, after it has found the models by itself."""
    device = SunSpecModbusClientDeviceTCP(
        slave_id=1, ipaddr=box.host, ipport=box.modbus_port, timeout=SECONDS
    )
    device.scan()
    try:
        yield device
    finally:
        device.close()


@contextmanager
def wire(port: int) -> Iterator[socket.socket]:
    """A bare TCP connection."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        yield connection


def meter_registers(client: ModbusTcpClient) -> list[int]:
    answer = client.read_holding_registers(METER_AT, count=METER.size)
    assert not answer.isError()
    return list(answer.registers)


def read_request(transaction: int, address: int, count: int, function: int = 3, unit: int = 1) -> bytes:
    return struct.pack(">HHHBBHH", transaction, 0, 6, unit, function, address, count)


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """The transaction and what stands behind the unit."""
    transaction, _, length, _ = struct.unpack(">HHHB", exactly(connection, 7))
    return transaction, exactly(connection, length - 1)


def exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        assert more, f"closed after {found!r}"
        found += more
    return found


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed this connection, or does so within the time."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
