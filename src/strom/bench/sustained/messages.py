"""Messages as an adapter sends them, as MQTT packets made beforehand: before each push a few bytes are overwritten.

All packets of a block have the same length, so one slice with a step writes a digit into all of them at once. It knows
no socket and reads no clock.
"""

from collections.abc import Iterable, Sequence
from random import Random

import mqtt5

from strom.streams.topics import HEADER_PUBLISHED

# The registers of an adapter that reports totals, powers, voltages and currents: 544 bytes of payload.
_VALUES = (
    ("1.8.0", "{counter}"), ("2.8.0", "2345678"), ("1.7.0", "{power}"), ("2.7.0", "0"),
    ("32.7.0", "23{volts}.4"), ("52.7.0", "22{volts}.9"), ("72.7.0", "23{volts}.6"),
    ("31.7.0", "1.1{amperes}"), ("51.7.0", "0.3{amperes}"), ("71.7.0", "0.6{amperes}"),
)  # fmt: skip
# What is written anew stands in the template as a run of one byte that occurs nowhere else.
_PUBLISHED, _TIME, _COUNTER = (13, "\x01"), (10, "\x02"), (8, "\x03")
_FIRST_WH, _LAST_WH = 10_000_000, 60_000_000  # eight digits, now and for years to come
_MILLI = 3  # digits of a counter that are kept and not shown
_JITTER = 64  # choices of the digits that move about


class Block:
    """The packets of some meters, which are sent together on one connection."""

    def __init__(
        self, topic: str, meters: Sequence[int], packet_ids: Iterable[int], interval_s: float
    ) -> None:
        draw = Random(meters[0])  # noqa: S311 - a load, no secret
        self.size = len(meters)
        powers = [draw.randrange(100, 1000) for _ in meters]
        self._energy = [draw.randrange(_FIRST_WH, _LAST_WH) * 1000 + draw.randrange(1000) for _ in meters]
        self._step = [max(1, round(watts * interval_s / 3.6)) for watts in powers]  # mWh from push to push
        packets = [
            _packet(topic, meter, packet_id, watts)
            for meter, packet_id, watts in zip(meters, packet_ids, powers, strict=True)
        ]
        self.data = bytearray(b"".join(packets))
        self._stride = len(packets[0])
        self._published = _Text(packets[0], *_PUBLISHED)
        self._time = _Text(packets[0], *_TIME)
        (self._counter,) = _columns(packets[0], *_COUNTER)
        self._counters = b"%011d" * self.size
        self._moving = [_last_digit(packets[0], code) for code in (b"1.7.0", b"32.7.0", b"31.7.0")]
        self._digits = [bytes(draw.choices(b"0123456789", k=self.size)) for _ in range(_JITTER)]
        self._turn = draw.randrange(_JITTER)

    def stamp(self, now_ms: int) -> bytearray:
        """The packets as they are sent at this moment: with its time, and what the meters have counted since."""
        self._published.write(self.data, self._stride, b"%d" % now_ms)
        self._time.write(self.data, self._stride, b"%d" % (now_ms // 1000))
        self._energy = [energy + step for energy, step in zip(self._energy, self._step, strict=True)]
        shown = self._counters % tuple(self._energy)
        for place in range(_COUNTER[0]):
            self.data[self._counter + place :: self._stride] = shown[place :: _COUNTER[0] + _MILLI]
        self._turn += 1
        for place, column in enumerate(self._moving):
            self.data[column :: self._stride] = self._digits[(self._turn + place) % _JITTER]
        return self.data


class _Text:
    """A text that all packets of a block share, at one or more places; only what has changed of it is written."""

    def __init__(self, packet: bytes, width: int, mark: str) -> None:
        self._starts = _columns(packet, width, mark)
        self._shown = mark.encode() * width

    def write(self, data: bytearray, stride: int, text: bytes) -> None:
        count = len(data) // stride
        for place, (old, new) in enumerate(zip(self._shown, text, strict=True)):
            if old != new:
                column = bytes((new,)) * count
                for start in self._starts:
                    data[start + place :: stride] = column
        self._shown = text


def name_of(meter: int) -> str:
    return f"bench-{meter:06d}"


def _packet(topic: str, meter: int, packet_id: int, watts: int) -> bytes:
    name = name_of(meter)
    marks = {name: mark * width for name, (width, mark) in (("counter", _COUNTER), ("time", _TIME))}
    draw = Random(meter)  # noqa: S311 - a load, no secret
    registers = ",".join(
        f'"1-0:{code}":{{"value":{value.format(power=watts, volts=draw.randrange(10), amperes=draw.randrange(10), **marks)}'
        f',"time":{marks["time"]}}}'
        for code, value in _VALUES
    )
    payload = (
        f'{{"api_version":"v1","name":"{name}",{registers},"0-0:96.1.0":{{"value":"1KFM0200{meter:06d}"}}}}'
    )
    published = _PUBLISHED[1] * _PUBLISHED[0]
    return mqtt5.PublishPacket(
        f"{topic}/{name}",
        payload.encode(),
        qos=mqtt5.QoS.AT_LEAST_ONCE,
        packet_id=packet_id,
        user_properties=[(HEADER_PUBLISHED, published)],
    ).write()


def _columns(packet: bytes, width: int, mark: str) -> list[int]:
    """Where the text stands in a packet."""
    run = mark.encode() * width
    found = [place for place in range(len(packet)) if packet.startswith(run, place)]
    if not found:
        raise ValueError("the text is not in the packet")
    return found


def _last_digit(packet: bytes, code: bytes) -> int:
    """Where the register's value ends."""
    return packet.index(b',"time"', packet.index(b"1-0:" + code)) - 1
