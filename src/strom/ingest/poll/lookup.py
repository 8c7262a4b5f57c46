"""From a host's name to an address, in a thread: a name server that is slow must hold up no other adapter."""

import asyncio
import ipaddress
import socket


class Lookup:
    """Of one host. A name may have several addresses: after a failure the next one is taken, IPv4 first."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._attempt = 0

    async def address(self) -> str:
        """OSError if there is none."""
        try:
            return str(ipaddress.ip_address(self._host))
        except ValueError:
            loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(None, _look_up, self._host, self._port)
        self._attempt += 1  # taken back by `good`
        return found[(self._attempt - 1) % len(found)]

    def good(self) -> None:
        """The address has answered: stay with it."""
        self._attempt = max(0, self._attempt - 1)


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found.sort(key=lambda info: info[0] != socket.AF_INET)
    return list(dict.fromkeys(str(info[4][0]) for info in found))
