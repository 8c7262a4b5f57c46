"""Bridge, gateway and command line choose the same partition for a meter: by its key, or by the area it is in."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strom.settings import AreaSettings, Settings
from strom.streams.records import Records
from strom.streams.start import EARLIEST
from strom.streams.topics import RAW
from tests.ingest.bridging import bridging, own_bridge, publish_all
from tests.ingest.gateway.calling import calling, gateway_settings
from tests.waiting import until

pytestmark = pytest.mark.stack
METERS = 8


@pytest.mark.parametrize("partitioner", ["key", "area"])
def test_whichever_door_a_meter_comes_in_by_it_lies_on_one_partition(
    stack: Settings, tmp_path: Path, unique: Callable[[str], str], partitioner: str
) -> None:
    area = unique("area")
    meters = [f"{area}-{number}" for number in range(METERS)]
    topic = unique("sma")
    bridge = spread(own_bridge(stack, tmp_path / "bridge", topic), partitioner, area)
    gateway = spread(gateway_settings(stack, tmp_path / "gateway"), partitioner, area)
    with bridging(bridge):
        publish_all(bridge, topic, [json.dumps({"name": meter}).encode() for meter in meters])
        # What it has not taken yet when it ends stays in Mosquitto.
        until(lambda: places(stack, meters, 1), "each meter by the bridge")
    with calling(gateway) as caller:
        body = [{"value": json.dumps({"name": meter})} for meter in meters]
        assert caller.as_user("anna").post(f"/produce/{RAW}", body).status_code == 200
        with_key = [{"value": "{}", "key": meter} for meter in meters]
        assert caller.as_user("anna").post(f"/produce/{RAW}", with_key).status_code == 200
    lines = "".join(f"{meter}\t{{}}\n" for meter in meters)
    subprocess.run(
        [sys.executable, "-m", "strom", "produce", RAW, "--key-separator", "\t"],
        input=lines,
        text=True,
        env=bridge.child_environment(),
        check=True,
    )
    found = until(lambda: places(stack, meters, 4), "each meter by three doors, one of them twice")
    assert all(len(partitions) == 1 for partitions in found.values())
    if partitioner == "area":
        assert len(set.union(*found.values())) == 1


def spread(settings: Settings, partitioner: str, area: str) -> Settings:
    kafka = settings.kafka.model_copy(update={"partitioner": partitioner})
    return settings.model_copy(update={"kafka": kafka, "areas": {area: AreaSettings(meters=[f"{area}-*"])}})


def places(settings: Settings, meters: list[str], times: int) -> dict[str, set[int]] | None:
    """The partitions that each meter lies on; None while it did not come so many times."""
    with Records(settings, [RAW], start=EARLIEST, until_end=True) as records:
        own = [((record.key or b"").decode(errors="replace"), record.partition) for record in records]
    keys = [key for key, _ in own]
    if any(keys.count(meter) < times for meter in meters):
        return None
    return {meter: {partition for key, partition in own if key == meter} for meter in meters}
