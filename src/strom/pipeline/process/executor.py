"""What an executor's Python keeps from one shard to the next: its connection to Postgres and its producer."""

from strom.pipeline.outbox import Outbox, SilentOutbox
from strom.settings import Settings
from strom.store.writes import EXECUTOR, Writer

_writers: dict[str, Writer] = {}
_outboxes: dict[str, Outbox] = {}


def writer(settings: Settings) -> Writer:
    """The one of these tables; there is never more than one, as one task runs here at a time."""
    url = settings.postgres_url
    if url not in _writers:
        for other in _writers.values():
            other.close()
        _writers.clear()
        _writers[url] = Writer(url, EXECUTOR)
    return _writers[url]


def outbox(settings: Settings, *, tells: bool) -> Outbox:
    if not tells:
        return SilentOutbox()
    servers = settings.kafka_bootstrap
    if servers not in _outboxes:
        forget_outboxes()
        _outboxes[servers] = Outbox(settings)
    return _outboxes[servers]


def forget_outboxes() -> None:
    """What they still hold must not come behind what the next attempt publishes."""
    for each in _outboxes.values():
        each.purge()
    _outboxes.clear()
