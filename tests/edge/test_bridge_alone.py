"""A bridge where nothing but the core is installed carries messages, and what one needs beside it works too."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strom.settings import Settings
from tests.edge.bare import ROOT
from tests.ingest.bridging import await_raw, own_bridge, publish_all
from tests.waiting import until

pytestmark = pytest.mark.stack


def test_a_bridge_alone_carries_messages(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic = unique("sma")
    settings = own_bridge(stack, tmp_path, topic)
    environment = settings.child_environment() | {"PYTHONPATH": f"{ROOT}/src"}
    bare = [sys.executable, "-m", "tests.edge.bare"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        bridge = subprocess.Popen([*bare, "bridge"], env=environment, cwd=ROOT, stderr=output)
    until(lambda: "bridging" in log.read_text(encoding="utf-8") or bridge.poll() is not None)
    publish_all(settings, topic, [b'{"name":"haus-21"}'])
    (record,) = await_raw(settings, topic, 1)
    bridge.terminate()
    assert (bridge.wait(60), record.key) == (0, b"haus-21")

    def said(*words: str) -> str:
        return subprocess.run(
            [*bare, *words],
            env=environment,
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
