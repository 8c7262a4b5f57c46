"""Readings of meters that count by tariff, and the quarter-hours and gaps that the pure function makes of them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from strom.domain.load_profile import Direction, Row, Sample, evaluate, profile
from strom.domain.tariffs import TARIFFS, Tariff, tariff_field
from strom.pipeline.limits import Limits
from tests.pipeline.batches import Sent
from tests.pipeline.expected_alerts import milli

Rows = dict[tuple[Tariff, int], Row]
Gaps = dict[tuple[Tariff, int, int], dict[Direction, int]]


def with_tariffs(chance: random.Random, readings: Sequence[Sent]) -> list[Sent]:
    """Import in two tariffs that take turns, export in one; now and then a register is left out, falls or jumps."""
    counters = {"import_t1_wh": 800.0, "import_t2_wh": chance.uniform(0, 5000), "export_t2_wh": 3.0}
    active, found = 1, []
    for each in readings:
        active = active if chance.random() < 0.9 else 3 - active
        for name in (f"import_t{active}_wh", "export_t2_wh"):
            growth = chance.choice([0, 0.7, 3.1, 20, -4, -9.9] + [-3000, 9000] * (chance.random() < 0.2))
            counters[name] = round(max(0, counters[name] + growth), 3)
        shown = {name: value for name, value in counters.items() if chance.random() < 0.85}
        found.append(replace(each, numbers=each.numbers | shown))
    return found


def expected_tariffs(limits: Limits, meters: Mapping[str, Sequence[Sent]]) -> tuple[Rows, Gaps]:
    """Of every meter and every tariff there may be."""
    rows: Rows = {}
    gaps: Gaps = {}
    for meter, own in meters.items():
        for tariff in (Tariff(meter, number) for number in TARIFFS):
            chains = {}
            for way in Direction:
                field = tariff_field(way, tariff.number)
                chains[way] = evaluate(
                    [Sample(each.at, milli(each, field)) for each in own], limits.energy(meter)
                )
                for gap in filter(None, chains[way].gaps.values()):
                    gaps.setdefault((tariff, gap.start, gap.end), {})[way] = gap.mwh
            rows |= {(tariff, row.start): row for row in profile(chains)}
    return rows, gaps
