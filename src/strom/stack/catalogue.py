"""Which parts there are, by the names of the contract and of `--only`, and what a choice of them needs."""

from collections.abc import Iterable

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.kafka import Kafka
from strom.stack.mosquitto import Mosquitto
from strom.stack.own import Bridge, Page, Pipeline
from strom.stack.part import Part
from strom.stack.postgres import Postgres

PARTS: tuple[type[Part], ...] = (Kafka, Mosquitto, Postgres, Bridge, Pipeline, Page)
# The contract's names in the order of `status`. The gateway has its place although nothing starts it yet.
STATUS_NAMES = ("kafka", "mqtt", "postgres", "bridge", "pipeline", "page", "gateway")
ALIASES = {"serve": "page"}
ALL = tuple(part.name for part in PARTS)
SERVERS = ("kafka", "mqtt", "postgres")


def choose(settings: Settings, names: Iterable[str]) -> list[Part]:
    """The parts of these names, in the order of the catalogue; an unknown name is refused."""
    wanted = {ALIASES.get(name, name) for name in names}
    unknown = sorted(wanted - set(ALL))
    if unknown:
        known = ", ".join("serve" if name == "page" else name for name in ALL)
        raise StromError(f"{unknown[0]} is not a part of the stack: choose from {known}.")
    return [part(settings) for part in PARTS if part.name in wanted]


def needed_elsewhere(settings: Settings, chosen: list[Part]) -> list[Part]:
    """Parts that the chosen ones need, but that are not started with them: they must run already."""
    names = {part.name for part in chosen}
    needed = {need for part in chosen if not part.external for need in part.needs} - names
    return [part(settings) for part in PARTS if part.name in needed]
