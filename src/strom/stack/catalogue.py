"""Which parts there are, by the names of the contract and of `--only`, and what a choice of them needs."""

from collections.abc import Iterable

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.kafka import Kafka
from strom.stack.mosquitto import Mosquitto
from strom.stack.own import Alerts, Bridge, Page, Pipeline
from strom.stack.part import Part
from strom.stack.postgres import Postgres

PARTS: tuple[type[Part], ...] = (Kafka, Mosquitto, Postgres, Bridge, Pipeline, Page, Alerts)
# The contract's names in the order of `status`. The gateway has its place although nothing starts it yet.
STATUS_NAMES = ("kafka", "mqtt", "postgres", "bridge", "pipeline", "page", "gateway")
ALIASES = {"serve": "page"}
ALL = tuple(part.name for part in PARTS if part is not Alerts)  # what runs whatever the settings are
SERVERS = ("kafka", "mqtt", "postgres")


def default_parts(settings: Settings) -> tuple[str, ...]:
    """What `strom up` starts: all, and the sender of alerts where it has somewhere to send them."""
    return (*ALL, Alerts.name) if settings.sends_alerts else ALL


def status_names(settings: Settings) -> tuple[str, ...]:
    return (*STATUS_NAMES, Alerts.name) if settings.sends_alerts else STATUS_NAMES


def choose(settings: Settings, chosen: Iterable[str]) -> list[Part]:
    """The parts of these names, in the order of the catalogue; an unknown name is refused."""
    wanted = {ALIASES.get(name, name) for name in chosen}
    names = [part.name for part in PARTS]
    unknown = sorted(wanted.difference(names))
    if unknown:
        known = ", ".join("serve" if name == "page" else name for name in names)
        raise StromError(f"{unknown[0]} is not a part of the stack: choose from {known}.")
    return [part(settings) for part in PARTS if part.name in wanted]


def needed_elsewhere(settings: Settings, chosen: list[Part]) -> list[Part]:
    """Parts that the chosen ones need, but that are not started with them: they must run already."""
    names = {part.name for part in chosen}
    needed = {need for part in chosen if not part.external for need in part.needs} - names
    return [part(settings) for part in PARTS if part.name in needed]
