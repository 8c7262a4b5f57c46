"""Whether a port is free for a server of ours; knows nothing of the servers but their names."""

import socket

from strom.errors import StromError


def refuse_if_taken(host: str, port: int, part: str, setting: str) -> None:
    """Raise one sentence that names the port, the part and the setting when something listens there."""
    if not is_free(host, port):
        variable = f"STROM_{setting.replace('.', '_')}".upper()
        raise StromError(
            f"Port {port} on {host} is in use, so {part} cannot start there: stop the program that uses it, "
            f"or choose another port with {setting} in strom.toml or {variable}."
        )


def is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers themselves do: connections of a server that just ended do not block its port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
