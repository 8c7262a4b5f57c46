"""What docs/streams.md tells people to write works as it stands there."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import strom.streams
from strom.cli import verbs
from strom.cli.main import app
from strom.cli.produce_heading import SENDER
from strom.settings import Settings
from strom.streams.choices import TIMEOUT_SECONDS, TRANSACTION_SECONDS, UNDER_WAY
from strom.streams.client import ANSWER_SECONDS
from strom.streams.producer import Producer
from strom.streams.topics import SOURCE_KAFKA
from tests.streams.writing import topic_of

PAGE = (Path(__file__).parents[2] / "docs/streams.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def at_the_stack(stack: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The working folder of somebody who has named this Kafka in `strom.toml`, and has made `my-topic`."""
    (tmp_path / "strom.toml").write_text(f'[kafka]\nbootstrap = "{stack.kafka_bootstrap}"\n')
    monkeypatch.chdir(tmp_path)
    topic_of(stack, "my-topic", partitions=4)
    with Producer(stack) as producer:
        producer.send("my-topic", "before", key="m1")
    return stack


@pytest.mark.stack
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_runs_as_it_stands(
    at_the_stack: Settings, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(EXAMPLES[number], f"example {number + 1} of docs/streams.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out


def test_all_that_is_public_is_on_the_page_and_can_be_imported() -> None:
    for name in strom.streams.__all__:
        found = getattr(strom.streams, name)
        assert getattr(importlib.import_module(strom.streams._HOME_OF[name]), name) is found
    assert not [name for name in ("Producer", "Consumer", "Records", "Delivery") if name not in PAGE]
    assert not hasattr(strom.streams, "Nothing")


def test_the_page_tells_the_times_and_limits_that_hold() -> None:
    rows = {line.split("|")[1].strip(): line for line in PAGE.splitlines() if line.startswith("| `--")}
    assert f"is given up; {TIMEOUT_SECONDS:g}," in rows["`--timeout`"]
    assert f"is aborted by the broker after {TRANSACTION_SECONDS:g} s." in PAGE
    assert f"At most {UNDER_WAY:,} messages are under way" in PAGE
    assert f"({ANSWER_SECONDS:g} s at most, if Kafka is away)" in PAGE
    assert f"`strom-source: {SOURCE_KAFKA}`" in PAGE
    assert f"`{SENDER}` for all of them" in PAGE


def test_every_flag_of_produce_is_on_the_page() -> None:
    if not app.registered_commands:
        verbs.register(app)
    command = get_command(app).commands["produce"]  # type: ignore[attr-defined]
    flags = [each for option in command.params for each in option.opts if each.startswith("--")]
    assert [each for each in flags if f"`{each}" not in PAGE] == ["--kafka", "--home"]  # those of every verb


def test_who_needs_only_names_loads_no_client() -> None:
    asked = (
        "import strom.streams.topics, sys; print('confluent_kafka' in sys.modules, 'pydantic' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "False False\n"
