"""Tables that an older Strom has filled say what this one has to know of them."""

import logging

import pytest

from strom.store.schema import connect, ensure_schema

pytestmark = pytest.mark.stack


def settled(url: str) -> list[tuple[str, int]]:
    with connect(url) as connection:
        return connection.execute("SELECT meter, newest FROM settled_meters ORDER BY meter").fetchall()


def made_by_another_script(url: str, *changes: str) -> None:
    """As an older Strom has left them."""
    ensure_schema(url)
    with connect(url) as connection:
        for change in ("COMMENT ON TABLE meters IS NULL", *changes):
            connection.execute(change.encode())


def test_what_was_written_before_there_were_passes_is_taken_for_settled_once(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    made_by_another_script(
        database,
        "DROP TABLE settled_meters, lake_positions, lake_shards, waiting_meters",
        "INSERT INTO meter_states VALUES ('m1', 900, 901, 5, 1), ('m2', 800, 801, NULL, 0)",
    )
    with caplog.at_level(logging.WARNING):
        ensure_schema(database)
    assert settled(database) == [("m1", 900), ("m2", 800)]
    assert "the tables of 2 meters are of an older Strom" in caplog.text
    caplog.clear()
    made_by_another_script(database, "UPDATE meter_states SET newest = 1000")
    with caplog.at_level(logging.WARNING):
        ensure_schema(database)
    assert settled(database) == [("m1", 900), ("m2", 800)]
    assert caplog.text == ""


@pytest.mark.parametrize(
    "known", ["lake_positions VALUES ('arrivals', 3, 0)", "settled_meters (meter, newest) VALUES ('m1', 7)"]
)
def test_tables_that_a_pass_has_written_stay_as_they_are(database: str, known: str) -> None:
    made_by_another_script(
        database, "INSERT INTO meter_states VALUES ('m1', 900, 901, 5, 1)", f"INSERT INTO {known}"
    )
    before = settled(database)
    ensure_schema(database)
    assert settled(database) == before


def test_the_shards_of_a_development_version_are_forgotten_with_their_table(database: str) -> None:
    made_by_another_script(
        database,
        "DROP TABLE lake_shards",
        "CREATE TABLE lake_shards (pass text, shard integer, version bigint, settled bigint, PRIMARY KEY (pass, shard))",
        "INSERT INTO lake_shards VALUES ('settlement', 1, 1, 1)",
    )
    ensure_schema(database)
    with connect(database) as connection:
        assert connection.execute("SELECT pass, shard, epoch, turn FROM lake_shards").fetchall() == []
