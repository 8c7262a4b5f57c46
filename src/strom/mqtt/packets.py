"""Packets of one MQTT 5 session: what is said at the start and the end, and how bytes split into packets.

It keeps no state and moves no bytes.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import mqtt5
from mqtt5 import ConnAckReasonCode, DisconnectReasonCode

from strom.mqtt.errors import ConnectRefusedError, MqttError, SessionTakenOverError
from strom.mqtt.transport import Endpoint

MAX_PACKET_ID = 65535
_PUBACK = 0x4002_0000  # with success, and the packet id in its lower half
LONGEST_SESSION = 0xFFFFFFFF  # for MQTT 5: does not expire

# These will be answered alike until a person changes something.
_PERMANENT = (
    ConnAckReasonCode.UNSUPPORTED_PROTOCOL_VERSION,
    ConnAckReasonCode.CLIENT_ID_NOT_VALID,
    ConnAckReasonCode.BAD_USER_NAME_OR_PASSWORD,
    ConnAckReasonCode.NOT_AUTHORIZED,
    ConnAckReasonCode.BANNED,
    ConnAckReasonCode.BAD_AUTHENTICATION_METHOD,
)


@dataclass(frozen=True)
class Session:
    """Who connects, and what the broker keeps when the line is lost."""

    client_id: str
    clean_start: bool = True
    expiry_seconds: int = 0
    keep_alive: int = 30
    receive_max: int = MAX_PACKET_ID


def split(view: memoryview, packets: list[mqtt5.Packet]) -> int:
    """Adds the whole packets in the buffer, and tells how many bytes they take.

    Raises MqttError where no packet begins; those before that place are in the list all the same.
    """
    used = 0
    read, end = mqtt5.read, len(view)
    while used < end:
        try:
            packet, length = read(view[used:])
        except IndexError:  # the rest has not come yet
            break
        except ValueError as error:
            raise MqttError(f"the broker sent what is not MQTT 5: {error}") from None
        packets.append(packet)
        used += length
    return used


def pubacks(packet_ids: Sequence[int]) -> bytes:
    """As many as messages: all of them in one go, for the codec's objects would cost more than the messages."""
    return struct.pack(f">{len(packet_ids)}I", *[_PUBACK | packet_id for packet_id in packet_ids])


def connect_packet(endpoint: Endpoint, session: Session) -> bytes:
    return mqtt5.ConnectPacket(
        session.client_id,
        username=endpoint.username,
        password=None if endpoint.password is None else endpoint.password.encode(),
        clean_start=session.clean_start,
        keep_alive=session.keep_alive,
        session_expiry_interval=session.expiry_seconds,
        receive_max=session.receive_max,
    ).write()


def refusal(endpoint: Endpoint, packet: mqtt5.ConnAckPacket) -> ConnectRefusedError:
    """The error for a CONNACK that says no."""
    words = packet.reason_str or _words(packet.reason_code)
    return ConnectRefusedError(
        f"{endpoint} refused the connection: {words}", permanent=packet.reason_code in _PERMANENT
    )


def farewell(packet: mqtt5.DisconnectPacket) -> MqttError:
    """The error for a DISCONNECT that the broker sent."""
    words = packet.reason_str or _words(packet.reason_code)
    if packet.reason_code == DisconnectReasonCode.SESSION_TAKEN_OVER:
        return SessionTakenOverError("another client connected with the same client id")
    return MqttError(f"the broker ended the connection: {words}")


def _words(code: ConnAckReasonCode | DisconnectReasonCode) -> str:
    return code.name.lower().replace("_", " ")
