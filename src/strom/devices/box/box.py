"""One box put together: a simulated adapter, the interfaces that show it, and the three connections they share."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from strom.devices.box.certificate import Certificate, certificate_in
from strom.devices.box.connections import Connections
from strom.devices.box.keeping import token_in
from strom.devices.box.listening import Interface, listen
from strom.devices.box.modbus import Modbus
from strom.devices.box.pushes import LastPush, Pushes
from strom.devices.box.rest import Rest
from strom.devices.box.status import FIRMWARE
from strom.devices.box.troubles import Trouble, Troubles
from strom.devices.simulator import Adapter
from strom.devices.sunspec import BASE, Identity, encode_map


@dataclass(frozen=True)
class Offer:
    """What a box offers, and where; a port of None is not offered, 0 is any free one."""

    host: str = "127.0.0.1"
    rest_port: int | None = 8443
    modbus_port: int | None = 5020
    mqtt: bool = True  # keeps one of the connections, whether its broker answers or not

    def beside(self, index: int) -> "Offer":
        """The same on the ports of the box with this number."""
        rest, modbus = (port + index if port else port for port in (self.rest_port, self.modbus_port))
        return replace(self, rest_port=rest, modbus_port=modbus)


class Box:
    """Within `listening`, `run` serves. What it keeps over restarts is in `folder`."""

    def __init__(
        self, pushes: Pushes, folder: Path, offer: Offer, *, token: str | None = None, troubles: Troubles
    ) -> None:
        self.pushes = pushes
        self.offer = offer
        self.troubles = troubles
        self.connections = Connections()
        self.token = token_in(folder, token)
        self.rest = Rest(pushes, self.token, troubles)
        self.modbus = Modbus(self._registers, BASE, troubles)
        self.ports: dict[str, int] = {}  # by interface, while it listens
        self._folder = folder
        self._making = Lock()  # the thread that serves, and whoever wants to know the fingerprint
        self._interfaces: list[Interface] = []
        self._encoded: tuple[LastPush | None, Sequence[int]] = (None, self._map(None))
        if offer.mqtt:
            self.connections.take()

    @property
    def adapter(self) -> Adapter:
        return self.pushes.adapter

    @property
    def certificate(self) -> Certificate:
        """The one that it shows at this moment; made if there is none."""
        expired = Trouble.EXPIRED in self.troubles.kinds
        with self._making:
            return certificate_in(self._folder, self.adapter.client_id, self.offer.host, expired=expired)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Takes its ports, or says which one it cannot have."""
        with ExitStack() as opened:
            for name, port, serve, context in (
                ("rest", self.offer.rest_port, self.rest.serve, lambda: self.certificate.context()),
                ("modbus", self.offer.modbus_port, self.modbus.serve, lambda: None),
            ):
                if port is not None:
                    listener = opened.enter_context(listen(self.offer.host, port, f"--{name}-port"))
                    interface = Interface(listener, self.connections, serve, context)
                    self._interfaces.append(interface)
                    self.ports[name] = interface.port
            yield

    async def run(self) -> None:
        """Until it is cancelled."""
        await asyncio.gather(*(interface.run() for interface in self._interfaces))

    def _registers(self) -> Sequence[int]:
        last = self.pushes.last()
        if last != self._encoded[0]:
            self._encoded = (last, self._map(last))
        return self._encoded[1]

    def _map(self, last: LastPush | None) -> Sequence[int]:
        """Without a push nothing is implemented but who the box is."""
        number, values = (self.pushes.meter_number, {}) if last is None else (last.meter_number, last.values)
        return encode_map(Identity(self.adapter.client_id, self.adapter.name, number, FIRMWARE), values)
