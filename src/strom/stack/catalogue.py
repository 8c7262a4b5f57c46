"""Which parts there are, by the names of the contract and of `--only`, and what a choice of them needs."""

from collections.abc import Iterable

from strom.errors import StromError
from strom.settings import EMBEDDED_CLUSTER, Settings
from strom.stack.kafka import Kafka
from strom.stack.mosquitto import Mosquitto
from strom.stack.own import Alerts, Bridge, Gateway, Page, Pipeline, Poll
from strom.stack.part import Part
from strom.stack.postgres import Postgres
from strom.stack.spark import SparkMaster, SparkWorker

PARTS: tuple[type[Part], ...] = (
    Kafka, Mosquitto, Postgres, SparkMaster, SparkWorker, Bridge, Poll, Pipeline, Page, Gateway, Alerts,
)  # fmt: skip
# The contract's names in the order of `status`.
STATUS_NAMES = ("kafka", "mqtt", "postgres", "bridge", "pipeline", "page", "gateway")
ALIASES = {"serve": "page"}
SPARK = "spark"
ALL = STATUS_NAMES  # what runs whatever the settings are
SERVERS = ("kafka", "mqtt", "postgres")
KINDS = tuple(
    dict.fromkeys(kind.group or kind.name for kind in PARTS)
)  # none needs one that stands behind it
ELSEWHERE = "elsewhere"  # what a supervisor holds whose parts all run elsewhere


def usual(settings: Settings) -> list[str]:
    """What `strom up` starts: all, the embedded Spark cluster where the pipeline is to run on it, and what the settings ask for."""
    cluster = [SPARK] if settings.spark.master == EMBEDDED_CLUSTER else []
    return [*ALL, *cluster, *_asked_for(settings)]


def status_names(settings: Settings) -> tuple[str, ...]:
    return (*STATUS_NAMES, *_asked_for(settings))


def _asked_for(settings: Settings) -> list[str]:
    """The poller where it has adapters to ask, the sender of alerts where it has somewhere to send them."""
    wanted = {Poll.name: bool(settings.adapters), Alerts.name: settings.sends_alerts}
    return [name for name, given in wanted.items() if given]


def choose(settings: Settings, names: Iterable[str]) -> list[Part]:
    """The parts of these names, in the order of the catalogue; an unknown name is refused."""
    wanted = {ALIASES.get(name, name) for name in names}
    unknown = sorted(wanted.difference(KINDS))
    if unknown:
        known = ", ".join("serve" if name == "page" else name for name in KINDS)
        raise StromError(f"{unknown[0]} is not a part of the stack: choose from {known}.")
    return [part for part in every_part(settings) if part.kind in wanted]


def held(chosen: Iterable[Part]) -> list[str]:
    """The kinds of these parts that run here: no other supervisor of the home may run them, too."""
    return list(dict.fromkeys(part.kind for part in chosen if not part.external)) or [ELSEWHERE]


def every_part(settings: Settings) -> list[Part]:
    """All parts that there can be with these settings."""
    return [part for kind in PARTS for part in kind.all_of(settings)]


def needed_elsewhere(settings: Settings, chosen: list[Part]) -> list[Part]:
    """Parts that the chosen ones need, but that are not started with them: they must run already."""
    here = {name for part in chosen for name in part.names}
    needed = {need for part in chosen if not part.external for need in part.needs} - here
    return [part for part in every_part(settings) if part.names & needed]
