"""The running pipeline removes old months where that is set."""

import logging
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest

from strom.pipeline.retention import apply_retention
from strom.settings import Settings
from strom.store.partitions import MONTHLY, ensure_partitions, partitions_of
from strom.store.schema import connect, drop_schema, ensure_schema

pytestmark = pytest.mark.stack
NOW = datetime(2026, 7, 15, tzinfo=UTC)
MAY, JUNE = date(2026, 5, 1), date(2026, 6, 1)


def test_months_go_as_the_setting_says(
    stack: Settings, unique: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = stack.with_schema(unique("kept").replace("-", "_"))
    url = settings.postgres_url
    ensure_schema(url)
    ensure_partitions(url, [MAY, JUNE])
    apply_retention(settings, NOW)
    with connect(url) as connection:
        assert {MAY, JUNE} < set(partitions_of(connection, MONTHLY[0]))
    postgres = settings.postgres.model_copy(update={"keep_months": 1})
    with caplog.at_level(logging.INFO):
        apply_retention(settings.model_copy(update={"postgres": postgres}), NOW)
    assert "4 partitions and 0 rows of before 2026-06-01 are removed" in caplog.text
    with connect(url) as connection:
        found = set(partitions_of(connection, MONTHLY[0]))
    assert JUNE in found
    assert MAY not in found
    drop_schema(stack.postgres_url, settings.postgres.schema_name)
