"""A Postgres in which no pipeline has run yet is one sentence, whoever asks it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from strom.errors import StromError
from strom.settings import PostgresSettings, Settings
from strom.store.reads import Reads, table_counts, taken_in
from tests.streams.writing import strom

pytestmark = pytest.mark.stack
SENTENCE = (
    "tables are missing in this Postgres; `strom pipeline run` makes them, or correct postgres.url and "
    "postgres.schema_name."
)
DAY = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture(scope="module")
def bare(stack: Settings) -> Iterator[Settings]:
    """A database without tables."""
    with psycopg.connect(stack.postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE without_tables")
        url = stack.postgres_url.rsplit("/", 1)[0] + "/without_tables"
        yield stack.model_copy(update={"postgres": PostgresSettings(url=url)})
        server.execute("DROP DATABASE without_tables WITH (FORCE)")


@pytest.mark.parametrize(
    "arguments",
    [
        "pipeline late",
        "pipeline late --meter haus-21",
        "meters list",
        "meters show haus-21",
        "meters export",
        "alerts list",
    ],
)
def test_a_command_says_what_is_missing_and_who_makes_it(bare: Settings, arguments: str) -> None:
    done = strom(bare, *arguments.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"strom: {SENTENCE}\n")


@pytest.mark.parametrize(
    "ask",
    [
        table_counts,
        taken_in,
        lambda url: Reads(url).sums("day", DAY, "UTC"),
        lambda url: Reads(url).quarter_hours(*DAY),
    ],
)
def test_so_do_those_who_ask_for_the_page(bare: Settings, ask: Callable[[str], object]) -> None:
    with pytest.raises(StromError) as refused:
        ask(bare.postgres_url)
    assert str(refused.value) == SENTENCE
