"""The gateway's benchmark on a small scale: both sides of each ratio are measured in the same run."""

import json
from pathlib import Path

import pytest

from strom.bench.gateway import GatewayBench, GatewayPlan, with_gateway
from strom.bench.ground import free_ports, own_servers
from strom.bench.report import as_svg
from strom.settings import Settings

pytestmark = pytest.mark.stack


def test_a_small_run_holds_single_messages_and_arrays_against_their_limits(tmp_path: Path) -> None:
    plan = GatewayPlan(singles=400, arrays=8, rounds=2, warm_up=100, connections=8, array_connections=2)
    said: list[str] = []
    with own_servers(Settings(home=tmp_path), said.append, ("kafka",)) as servers:
        report = GatewayBench(with_gateway(servers, free_ports(1)[0]), plan, said.append).run()
    assert [(each.name, each.at_least) for each in report.measures] == [
        ("single messages", 0.5),
        ("arrays of 1,000", 0.5),
    ]
    assert all(each.ratio > 0 for each in report.measures)
    assert {name for name in report.figures if name.endswith("/s")} == {
        "empty endpoint, requests/s",
        "single messages/s",
        "bare producer loop, messages/s",
        "arrays of 1,000, messages/s",
    }
    assert sum(line.startswith("run ") for line in said) == 4
    assert json.loads(json.dumps(report.as_dict()))["measures"][0]["name"] == "single messages"
    assert "arrays of 1,000" in as_svg(report)
