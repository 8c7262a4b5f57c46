"""Frames of Modbus TCP on a real socket: only the answer to the request counts."""

import struct

import pytest

from strom.ingest.poll.asking import within
from strom.ingest.poll.modbus_line import ModbusError, ModbusLine
from strom.ingest.poll.trouble import Kind, Trouble
from tests.ingest.poll.boxes import CUT, HANG, Box, Frames, modbus_box, play


def answer(
    frame: bytes, *, transaction: int = 0, protocol: int = 0, unit: int = 0, function: int = 0
) -> bytes:
    """Each register holds its own address; the rest may be off by so much."""
    asked, _, _, own_unit, own_function, address, count = struct.unpack(">HHHBBHH", frame)
    body = struct.pack(f">B{count}H", 2 * count, *range(address, address + count))
    head = struct.pack(
        ">HHHBB", asked + transaction, protocol, len(body) + 2, own_unit + unit, own_function ^ function
    )
    return head + body


def refusal(frame: bytes, code: int) -> bytes:
    return frame[:4] + struct.pack(">HBBB", 3, frame[6], frame[7] | 0x80, code)


def read(respond: Frames, *requests: tuple[int, int], **more: object) -> tuple[list[list[int]], Box]:
    async def scene() -> tuple[list[list[int]], Box]:
        async with modbus_box(respond) as box:
            line = ModbusLine(box.settings(by="modbus", **more))
            try:
                return [list(await within(10, line.read(*request))) for request in requests], box
            finally:
                line.close()
                await line.closed()

    return play(scene())


def test_registers_are_read_over_one_connection() -> None:
    found, box = read(answer, (40_000, 2), (7, 1), (0, 125), unit=9)
    assert found == [[40_000, 40_001], [7], list(range(125))]
    assert (box.connections, box.requests) == (1, [(40_000, 2), (7, 1), (0, 125)])


def test_a_no_of_the_device_is_told_with_its_code_and_the_connection_is_kept() -> None:
    async def scene() -> Box:
        async with modbus_box(lambda frame: refusal(frame, 2) if frame[9] == 7 else answer(frame)) as box:
            line = ModbusLine(box.settings(by="modbus"))
            with pytest.raises(ModbusError, match="no such register") as found:
                await line.read(7, 2)
            assert (found.value.code, found.value.kind) == (2, Kind.MODBUS)
            assert list(await line.read(8, 1)) == [8]
            line.close()
            await line.closed()
            return box

    assert play(scene()).connections == 1


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    found, box = read(lambda frame: answer(frame) + CUT, (1, 1), (2, 1), (3, 1))
    assert (found, box.connections, box.most_open) == ([[1], [2], [3]], 3, 1)


@pytest.mark.parametrize(
    ("respond", "kind"),
    [
        (lambda frame: answer(frame, transaction=1), Kind.GARBAGE),
        (lambda frame: answer(frame, protocol=1), Kind.GARBAGE),
        (lambda frame: answer(frame, unit=1), Kind.GARBAGE),
        (lambda frame: answer(frame, function=4), Kind.GARBAGE),
        (lambda frame: answer(frame[:11] + b"\x01"), Kind.GARBAGE),
        (lambda frame: answer(frame)[:8] + b"\x01" + answer(frame)[9:], Kind.GARBAGE),
        (lambda frame: frame[:4] + struct.pack(">HBBBB", 4, 1, 0x83, 2, 2), Kind.GARBAGE),
        (lambda frame: b"HTTP/1.1 400 Bad Request\r\n\r\n", Kind.GARBAGE),
        (lambda frame: answer(frame)[:10] + CUT, Kind.CONNECTION),
        (lambda frame: answer(frame)[:3] + CUT, Kind.CONNECTION),
        (lambda frame: CUT, Kind.CONNECTION),
    ],
    ids=[
        "transaction",
        "protocol",
        "unit",
        "function",
        "fewer",
        "count",
        "exception",
        "http",
        "cut",
        "head",
        "none",
    ],
)
def test_what_is_not_the_answer_is_refused(respond: Frames, kind: Kind) -> None:
    with pytest.raises(Trouble) as found:
        read(respond, (5, 2))
    assert found.value.kind is kind


def test_after_a_time_out_the_late_answer_is_not_taken_for_the_next_one() -> None:
    async def scene() -> Box:
        async with modbus_box(lambda frame: HANG if frame[9] == 7 else answer(frame)) as box:
            line = ModbusLine(box.settings(by="modbus"))
            with pytest.raises(Trouble) as found:
                await within(0.2, line.read(7, 1))
            assert found.value.kind is Kind.TIMEOUT
            assert list(await within(10, line.read(8, 1))) == [8]
            line.close()
            await line.closed()
            return box

    assert play(scene()).connections == 2


def test_a_device_that_is_not_there_is_told_as_a_connection() -> None:
    async def scene() -> Trouble:
        async with modbus_box(answer) as box:
            gone = box.settings(by="modbus")
        with pytest.raises(Trouble, match="cannot be reached") as found:
            await ModbusLine(gone).read(1, 1)
        return found.value

    assert play(scene()).kind is Kind.CONNECTION
