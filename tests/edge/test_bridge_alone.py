"""A bridge where nothing but the core is installed carries messages, and what one needs beside it works too."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from strom.settings import Settings
from tests.devices.samples import payload_of
from tests.edge.bare import ROOT
from tests.ingest.bridging import await_raw, own_bridge, publish_all, raw_records
from tests.waiting import until

pytestmark = pytest.mark.stack


BARE = [sys.executable, "-m", "tests.edge.bare"]


@contextmanager
def bare_bridge(settings: Settings) -> Iterator[Path]:
    """One at work; gives its log. It must end well."""
    log = settings.home / "log"
    with log.open("wb") as output:
        bridge = subprocess.Popen([*BARE, "bridge"], env=environment(settings), cwd=ROOT, stderr=output)
    try:
        until(lambda: "bridging" in log.read_text(encoding="utf-8") or bridge.poll() is not None)
        yield log
    finally:
        bridge.terminate()
        ended = bridge.wait(60)
    assert ended == 0, log.read_text(encoding="utf-8")


def environment(settings: Settings) -> dict[str, str]:
    return settings.child_environment() | {"PYTHONPATH": f"{ROOT}/src"}


def test_a_bridge_alone_that_thins_lets_go_on_what_it_cannot_read_and_says_what_to_install(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("sma")
    own = own_bridge(stack, tmp_path, topic, every="60s")
    settings = own.model_copy(update={"dialects": {f"{topic}/+/telegram": "dsmr_p1"}})
    push = b'{"name":"haus-21","1-0:1.8.0":{"value":%d,"time":1763230500}}'
    with bare_bridge(settings) as log:
        telegrams = [payload_of("dsmr_p1", name) for name in ("v5.txt", "v4_2.txt", "v5.txt")]
        for telegram in telegrams:
            publish_all(settings, f"{topic}/haus-7/telegram", [telegram])
        publish_all(settings, topic, [push % 1, push % 2, b"the last"])
        await_raw(settings, topic, 2 + 1 + 1)
        records = [record.value for record in raw_records(settings, topic)]
        assert sorted(map(bytes, filter(None, records))) == sorted([*telegrams, push % 1, b"the last"])
    said = log.read_text(encoding="utf-8")
    assert said.count("Thinning dsmr_p1 needs dsmr_parser, which is not installed here: pip install") == 1
    assert "Traceback" not in said


def test_a_bridge_alone_carries_messages(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("sma")
    settings = own_bridge(stack, tmp_path, topic)
    with bare_bridge(settings):
        publish_all(settings, topic, [b'{"name":"haus-21"}'])
        (record,) = await_raw(settings, topic, 1)
    assert record.key == b"haus-21"

    def said(*words: str) -> str:
        return subprocess.run(
            [*BARE, *words],
            env=environment(settings),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout

    place = f"{record.partition}", record.offset
    tailed = [json.loads(line) for line in said("tail", "sma-kafka", "--until-end", "--json").splitlines()]
    assert place in [(f"{each['partition']}", each["offset"]) for each in tailed]
    assert "sma-kafka" in said("topics", "list")
