"""The Kafka contract: topics, headers, producers, consumers, administration.

What is named here is for programs that send and read, see docs/streams.md. Each name is loaded when it is first used, so
that a part that needs only the names of topics loads no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strom.errors import StromError
    from strom.settings import Settings, load_settings
    from strom.streams.assembler import Trouble, Why
    from strom.streams.consumer import Consumer
    from strom.streams.delivery import Delivery, DeliveryFuture
    from strom.streams.partitioners import Partitioner
    from strom.streams.producer import Producer
    from strom.streams.record import Record
    from strom.streams.records import Records
    from strom.streams.start import EARLIEST, LATEST, Start

__all__ = [
    "EARLIEST",
    "LATEST",
    "Consumer",
    "Delivery",
    "DeliveryFuture",
    "Partitioner",
    "Producer",
    "Record",
    "Records",
    "Settings",
    "Start",
    "StromError",
    "Trouble",
    "Why",
    "load_settings",
]

_HOMES = {
    "strom.errors": ("StromError",),
    "strom.settings": ("Settings", "load_settings"),
    "strom.streams.assembler": ("Trouble", "Why"),
    "strom.streams.consumer": ("Consumer",),
    "strom.streams.delivery": ("Delivery", "DeliveryFuture"),
    "strom.streams.partitioners": ("Partitioner",),
    "strom.streams.producer": ("Producer",),
    "strom.streams.record": ("Record",),
    "strom.streams.records": ("Records",),
    "strom.streams.start": ("EARLIEST", "LATEST", "Start"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a name that is not there is a mistake that type checkers find

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return found
