"""What a part counts is what Prometheus reads, on a page of its own or as text."""

import socket
import urllib.request
from dataclasses import dataclass

import pytest

from strom.errors import StromError
from strom.metrics import Metrics, counter, gauge
from tests.conftest import free_ports


@dataclass
class Door:
    received: int = counter("Messages taken.")
    waiting: int = gauge("Messages that wait.")


def lines(text: bytes) -> list[str]:
    return [line for line in text.decode().splitlines() if not line.startswith("#")]


def test_counters_and_gauges_are_told_with_their_meaning() -> None:
    metrics, door = Metrics(), Door()
    metrics.watch("door", door)
    door.received, door.waiting = 3, 7
    assert lines(metrics.text()) == ["strom_door_received_total 3.0", "strom_door_waiting 7.0"]
    assert "# HELP strom_door_received_total Messages taken." in metrics.text().decode()


def test_several_of_one_part_differ_by_their_labels() -> None:
    metrics = Metrics()
    metrics.watch("door", Door(received=1), adapter="a")
    metrics.watch("door", Door(received=2), adapter="b")
    told = lines(metrics.text())
    assert 'strom_door_received_total{adapter="a"} 1.0' in told
    assert 'strom_door_received_total{adapter="b"} 2.0' in told


def test_what_must_be_asked_for_is_refreshed_before_it_is_told() -> None:
    metrics, door = Metrics(), Door()

    def refresh() -> None:
        door.waiting += 1

    metrics.watch("door", door, refresh)
    metrics.text()
    assert "strom_door_waiting 2.0" in lines(metrics.text())


def test_the_page_is_there_while_the_part_runs() -> None:
    metrics, (port,) = Metrics(), free_ports(1)
    metrics.watch("door", Door(received=5))
    with metrics.served(port, "127.0.0.1", "bridge.metrics_port"):
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)
        assert b"strom_door_received_total 5.0" in answer.read()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_port_that_is_taken_is_told_with_the_setting() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StromError, match=r"set bridge\.metrics_port to another port"), Metrics().served(port, "127.0.0.1", "bridge.metrics_port"):  # fmt: skip
            pass
