"""Keeps the tables to `postgres.keep_months`, as the lake's upkeep keeps the lake to `lake.keep_days`."""

import logging
from datetime import datetime

from strom.settings import Settings
from strom.store.retention import drop_months, first_kept

log = logging.getLogger(__name__)


def apply_retention(settings: Settings, now: datetime) -> None:
    months = settings.postgres.keep_months
    if months is None:
        return
    first = first_kept(now, months)
    dropped = drop_months(settings.postgres_url, first)
    if dropped.partitions or dropped.rows:
        log.info(
            "Postgres: %d partitions and %d rows of before %s are removed (postgres.keep_months)",
            dropped.partitions,
            dropped.rows,
            first,
        )
