"""What goes in comes out: as many, as much, and once."""

import json
import random
from decimal import Decimal

import pytest

from strom.stack.supervisor import Stack
from strom.store.schema import connect
from tests.e2e.way import await_outcomes, await_taken_in, outcomes, publish, records

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

FIRST = 1_763_229_600  # 2025-11-15T18:00:00Z, a quarter-hour's border


def counting_meter(name: str, seed: int, minutes: int = 60) -> list[bytes]:
    """A reading a minute for an hour, from border to border; the counter grows by chance."""
    chance = random.Random(seed)
    counter, payloads = 1_000_000, []
    for minute in range(minutes + 1):
        time = FIRST + minute * 60
        members = {"1-0:1.8.0": {"value": counter, "time": time}, "1-0:2.8.0": {"value": 7, "time": time}}
        payloads.append(json.dumps({"name": name, **members}).encode())
        counter += chance.randrange(0, 300)
    return payloads


def counter_of(payload: bytes) -> int:
    return int(json.loads(payload)["1-0:1.8.0"]["value"])


def test_every_message_is_counted_once_at_every_stage(whole: Stack) -> None:
    before = len(records(whole.settings, "sma-kafka"))
    meters = {f"zähler-{seed}": counting_meter(f"zähler-{seed}", seed) for seed in range(5)}
    payloads = [payload for series in meters.values() for payload in series]
    random.Random(1).shuffle(payloads)
    again = payloads[::3]
    published = publish(whole.settings, [("sma", payload) for payload in (*payloads, *again)])
    assert published == len(payloads) + len(again)

    await_outcomes(whole.settings, payloads)
    await_taken_in(whole.settings)

    assert len(records(whole.settings, "sma-kafka")) - before == published
    assert len(outcomes(whole.settings)) == before + published
    with connect(whole.settings.postgres_url) as connection:
        for meter, series in meters.items():
            rows = connection.execute(
                "SELECT import_wh, export_wh, quality, samples FROM load_profile WHERE meter = %s ORDER BY start",
                (meter,),
            ).fetchall()
            assert len(rows) == 4
            assert sum((row[0] for row in rows), Decimal(0)) == counter_of(series[-1]) - counter_of(series[0])
            assert {row[1] for row in rows} == {Decimal(0)}
            assert {row[2] for row in rows} == {"measured"}
            assert [row[3] for row in rows] == [15, 15, 15, 15]
