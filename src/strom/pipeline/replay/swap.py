"""Tells the topics what a swap of tables changes: the quarter-hours and alerts that are others now."""

from collections.abc import Sequence

from strom.pipeline.alerts import watch
from strom.pipeline.outbox import Outbox
from strom.pipeline.profile_rows import as_json, topic_key
from strom.settings import DEFAULT_SCHEMA, Settings
from strom.store import swap as store
from strom.store.alert_tables import all_alerts
from strom.store.profile_tables import load_rows, millis
from strom.store.statistics_tables import load_statistics
from strom.store.swap import Swapped
from strom.store.writes import Work
from strom.streams.topics import LOAD_PROFILE

_METERS = 100  # whose changes are told together


def swap(settings: Settings, new: str, *, shorter: bool = False) -> Swapped:
    """Put the tables of this schema in the place of the live ones; the topics hear what changes before it does."""
    outbox = Outbox(settings)

    def tell(work: Work, live: str, built: str) -> None:
        _tell_rows(work, outbox, live, built)
        _tell_alerts(work, outbox, live, built)
        outbox.confirm()

    plain = settings.with_schema(DEFAULT_SCHEMA).postgres_url
    return store.swap(plain, settings.postgres.schema_name, new, shorter=shorter, tell=tell)


def _tell_rows(work: Work, outbox: Outbox, live: str, new: str) -> None:
    changed = work.rows(
        f'SELECT meter, start, n.version IS NULL FROM "{new}".load_profile n '  # noqa: S608 - names of schemas
        f'FULL JOIN "{live}".load_profile o USING (meter, start) '
        "WHERE n.version IS DISTINCT FROM o.version ORDER BY meter, start"
    )
    meters = sorted({meter for meter, _, _ in changed})
    work.execute(f'SET LOCAL search_path = "{new}"')
    for first in range(0, len(meters), _METERS):
        some = set(meters[first : first + _METERS])
        own = [(meter, millis(start), gone) for meter, start, gone in changed if meter in some]
        _tell(work, outbox, own)


def _tell(work: Work, outbox: Outbox, changed: Sequence[tuple[str, int, bool]]) -> None:
    since: dict[str, int] = {}
    for meter, start, _ in changed:
        since.setdefault(meter, start)
    rows = load_rows(work, [(meter, start, None) for meter, start in since.items()])
    statistics = load_statistics(work, [(meter, start) for meter, start, gone in changed if not gone])
    for meter, start, gone in changed:
        key = (meter, start)
        value = None if gone else as_json(rows[key], statistics.get(key, {}))
        outbox.put(LOAD_PROFILE, topic_key(*key), value)


def _tell_alerts(work: Work, outbox: Outbox, live: str, new: str) -> None:
    found = {}
    for schema in (live, new):
        work.execute(f'SET LOCAL search_path = "{schema}"')
        found[schema] = {alert.id: alert for alert in all_alerts(work)}
    before, after = found[live], found[new]
    watch.tell(
        outbox,
        [alert for key, alert in after.items() if before.get(key) != alert],
        [alert for key, alert in before.items() if key not in after],
    )
