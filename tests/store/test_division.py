"""Tables of the form without partitions are divided with all their rows, or stay as they were."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from strom.errors import StromError
from strom.store.partitions import MONTHLY, Monthly
from strom.store.schema import connect, ensure_schema
from tests.waiting import until

pytestmark = pytest.mark.stack
ROWS = """
INSERT INTO load_profile (meter, start, import_wh, export_wh, quality, samples, version)
SELECT 'm' || m, s, m, NULL, 'measured', 180, 3
FROM generate_series(timestamptz '2025-12-30 00:00Z', '2026-02-02 00:00Z', interval '6 hours') s, generate_series(1, 5) m;
INSERT INTO load_profile (meter, start, quality, samples) VALUES ('m1', '2021-05-14 13:00Z', 'missing', 0);
INSERT INTO slot_statistics SELECT meter, start, '{1}', '{2}', '{3}', '{4}' FROM load_profile;
INSERT INTO tariff_profile (meter, tariff, start, import_wh, quality, samples)
SELECT meter, 2, start, import_wh, quality, samples FROM load_profile;
INSERT INTO profile_segments SELECT meter, 'import', extract(epoch FROM start)::bigint * 1000, 1, 2, 3, 4, 5, 6, 'exact', NULL,
    NULL, NULL, false, false, '{1,2}', 7, NULL, NULL FROM load_profile;
GRANT SELECT ON load_profile TO PUBLIC;
"""


@pytest.fixture
def old(database: str) -> str:
    with connect(database) as connection:
        connection.execute((Path(__file__).parent / "undivided.sql").read_bytes())
        connection.execute(ROWS.encode())
    return database


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    with connect(url) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2, 3".encode()).fetchall()  # noqa: S608
            for name in (*(monthly.table for monthly in MONTHLY), "quarter_hours")
        }


def kind(url: str, monthly: Monthly) -> str:
    with connect(url) as connection:
        query = "SELECT relkind::text FROM pg_class WHERE oid = %s::regclass"
        (found,) = connection.execute(query, (monthly.table,)).fetchone() or ("",)
    return str(found)


def test_all_rows_rights_and_keys_are_there_afterwards(old: str, caplog: pytest.LogCaptureFixture) -> None:
    before = rows(old)
    with caplog.at_level(logging.INFO):
        ensure_schema(old)
    assert rows(old) == before
    assert "load_profile: 686 rows are in 4 months now" in caplog.text
    assert {kind(old, monthly) for monthly in MONTHLY} == {"p"}
    with connect(old) as connection:
        sizes = connection.execute(
            "SELECT tableoid::regclass::text, count(*) FROM profile_segments GROUP BY 1 ORDER BY 1"
        )
        assert sizes.fetchall() == [
            ("profile_segments_2021_05", 1),
            ("profile_segments_2025_12", 40),
            ("profile_segments_2026_01", 620),
            ("profile_segments_2026_02", 25),
        ]
        left = "SELECT relname FROM pg_class WHERE relname ~ 'undivided|passing'"
        assert connection.execute(left).fetchall() == []
        granted = "SELECT has_table_privilege('public', 'load_profile', 'SELECT')"
        assert connection.execute(granted).fetchone() == (True,)
        for monthly in MONTHLY:
            again = f"INSERT INTO {monthly.table} SELECT * FROM {monthly.table} LIMIT 1"  # noqa: S608
            with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
                connection.execute(again.encode())
    caplog.clear()
    ensure_schema(old)
    assert rows(old) == before
    assert "dividing" not in caplog.text


def test_an_interruption_leaves_the_old_tables_and_the_next_start_divides_them(old: str) -> None:
    before = rows(old)
    with psycopg.connect(old) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("SELECT FROM profile_segments LIMIT 1")  # the last table to be divided is in use
        start = pool.submit(ensure_schema, old)
        waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'profile_segments'::regclass"
        until(lambda: bool(reader.execute(waiting).fetchall()))
        reader.execute(f"SELECT pg_terminate_backend(pid) FROM ({waiting}) w".encode())  # noqa: S608
        with pytest.raises(psycopg.OperationalError):
            start.result()
    assert rows(old) == before
    assert {kind(old, monthly) for monthly in MONTHLY} == {"r"}
    ensure_schema(old)
    assert rows(old) == before
    assert {kind(old, monthly) for monthly in MONTHLY} == {"p"}


def test_a_view_of_somebody_else_is_named_and_nothing_is_changed(old: str) -> None:
    with connect(old) as connection:
        connection.execute("CREATE VIEW mine AS SELECT meter, sum(import_wh) FROM load_profile GROUP BY 1")
    before = rows(old)
    with pytest.raises(StromError, match=r"views of your own read it \(mine\)"):
        ensure_schema(old)
    assert rows(old) == before
    with connect(old) as connection:
        connection.execute("DROP VIEW mine")
    ensure_schema(old)
    assert rows(old) == before
