"""The bridge's benchmark: what it tells its peers, and that it counts every message, on a small scale."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from strom.bench.bridge.peers import BENTHOS, PEERS, TELEGRAF
from strom.bench.bridge.usage import usage
from strom.settings import Settings

VALUES = {
    "mqtt": "127.0.0.1:1883",
    "kafka": "127.0.0.1:9092",
    "topic": "bench-1",
    "raw": "sma-kafka",
    "qos": 1,
}


def test_telegraf_is_told_to_read_what_the_bridge_reads_and_to_acknowledge_after_kafka() -> None:
    told = tomllib.loads(TELEGRAF.format(**VALUES))
    (source,), (target,) = told["inputs"]["mqtt_consumer"], told["outputs"]["kafka"]
    assert (source["topics"], source["qos"]) == (["bench-1", "bench-1/+"], 1)
    assert (target["brokers"], target["topic"], target["required_acks"]) == (
        ["127.0.0.1:9092"],
        "sma-kafka",
        -1,
    )
    assert target["template"] == '{{ .Field "value" }}'


def test_benthos_is_told_the_same() -> None:
    told = BENTHOS.format(**VALUES)
    for line in ('topics: ["bench-1", "bench-1/+"]', "qos: 1", 'topic: "sma-kafka"'):
        assert line in told
    assert """key: '${! metadata("mqtt_topic") }'""" in told


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [peer.program for peer in PEERS] == [None] * len(PEERS)
    program = tmp_path / "telegraf"
    program.touch(mode=0o755)
    assert [peer.name for peer in PEERS if peer.program] == ["Telegraf"]


def test_usage_is_what_the_kernel_counts() -> None:
    before = usage(os.getpid())
    ballast = bytes(range(256)) * 200_000
    after = usage(os.getpid())
    assert after.cpu_s >= before.cpu_s
    assert after.peak_mb >= len(ballast) / (1 << 20)


@pytest.mark.stack
def test_a_small_run_counts_every_message_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = "bench bridge --messages 5000 --rounds 1 --adapters 40 --for 3 --json"
    found = subprocess.run(
        [sys.executable, "-m", "strom", *words.split()],
        env=Settings(home=tmp_path).child_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert found.stdout, found.stderr
    told = json.loads(found.stdout)
    ratios = {measure["name"]: measure["ratio"] for measure in told["measures"]}
    for name in ("carried by the bridge", "connected at once", "their messages in Kafka"):
        assert ratios[name] == 1, found.stderr
    assert told["figures"]["adapters, published and confirmed"] > 0
    assert told["figures"]["bridge, QoS 1, s of processor for 100,000"] > 0
    assert found.returncode == (0 if told["reached"] else 1)
    assert [path.name for path in tmp_path.iterdir()] == ["bench-bridge.svg"]
