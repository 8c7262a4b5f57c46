"""What the tables and the lake must hold, as the pure functions make it of a set of readings."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pyspark.sql import SparkSession

from strom.domain.alerts import CLOCK, KINDS, SILENT
from strom.domain.chain import Chain
from strom.domain.load_profile import Direction, Row, Sample, evaluate, profile
from strom.domain.slots import slot_of
from strom.domain.statistics import QUANTITIES, Band, Statistics
from strom.domain.tariffs import TARIFFS, Tariff
from strom.pipeline.limits import Limits
from strom.settings import Settings
from strom.store import tariff_tables
from strom.store.alert_tables import Scope, load_alerts
from strom.store.profile_tables import StoredRow, load_gaps, load_rows
from strom.store.statistics_tables import load_statistics
from strom.store.writes import Work, Writer
from tests.pipeline.batches import Sent, by_meter, fetch, moment
from tests.pipeline.expected_alerts import expected_alerts, milli
from tests.pipeline.expected_tariffs import expected_tariffs

Stored = dict[tuple[str, int], StoredRow]


def assert_tables_are_the_function_of(
    settings: Settings, spark: SparkSession, arrived: Sequence[Sent], settled_ms: int | None = None
) -> Stored:
    """Whatever the order in which they came; what is measured counts up to the settled time. Returns the quarter-hours."""
    readings = [each for each in arrived if settled_ms is None or each.at < settled_ms]
    limits, meters = Limits(settings), by_meter(readings)
    everything = by_meter(arrived)
    with Writer(settings.postgres_url) as writer, writer.work() as work:
        stored = load_rows(work, [(meter, 0, None) for meter in meters])
        assert_same({key: each.row for key, each in stored.items()}, _rows(limits, meters))
        assert_same(load_gaps(work, [(meter, 0, None) for meter in meters]), _gaps(limits, meters))
        statistics = _statistics(readings)
        assert_same(load_statistics(work, statistics), statistics)
        parts = ("", "import", "export", "l1", "l2", "l3")
        kinds = [(kind, part) for kind in KINDS if kind != SILENT for part in parts]
        scopes = [Scope(meter, kind, part, 0) for meter in meters for kind, part in kinds]
        scopes += [Scope(meter, CLOCK, "", 0) for meter in everything.keys() - meters.keys()]
        expected = expected_alerts(limits, meters, everything)
        assert_same({alert.id: alert for alert in load_alerts(work, scopes)}, expected)
        _assert_tariffs(work, limits, meters)
    assert fetch(settings, "SELECT count(*) FROM slot_statistics") == [(len(statistics),)]
    latest = dict(fetch(settings, "SELECT meter, at FROM readings_latest"))
    assert_same(latest, {meter: moment(max(each.at for each in own)) for meter, own in everything.items()})
    assert_same(dict(fetch(settings, "SELECT meter, meter_number FROM meters")), _numbers(everything))
    lake = spark.read.format("delta").load(f"{settings.lake_root}/readings").select("origin").collect()
    assert sorted(row.origin for row in lake) == sorted(each.origin for each in arrived)
    return stored


def assert_same(found: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    """Only some of what differs is told: the whole would be too much to read."""
    keys = (key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    some = list(islice(keys, 3))
    assert {key: found.get(key) for key in some} == {key: expected.get(key) for key in some}
    assert len(found) == len(expected)


def _assert_tariffs(work: Work, limits: Limits, meters: Mapping[str, Sequence[Sent]]) -> None:
    rows, gaps = expected_tariffs(limits, meters)
    tariffs = [(Tariff(meter, number), 0, None) for meter in meters for number in TARIFFS]
    stored = tariff_tables.load_rows(work, tariffs)
    assert_same({key: each.row for key, each in stored.items()}, rows)
    assert_same(tariff_tables.load_gaps(work, tariffs), gaps)
    counts = "SELECT (SELECT count(*) FROM tariff_profile), (SELECT count(*) FROM tariff_gaps)"
    assert work.rows(counts) == [(len(rows), len(gaps))]


def _chain(limits: Limits, own: Sequence[Sent], direction: Direction) -> Chain:
    samples = [Sample(each.at, milli(each, f"{direction}_wh"), milli(each, f"{direction}_w")) for each in own]
    return evaluate(samples, limits.energy(own[0].meter))


def _rows(limits: Limits, meters: Mapping[str, Sequence[Sent]]) -> dict[tuple[str, int], Row]:
    return {
        (meter, row.start): row
        for meter, own in meters.items()
        for row in profile({direction: _chain(limits, own, direction) for direction in Direction})
    }


def _gaps(
    limits: Limits, meters: Mapping[str, Sequence[Sent]]
) -> dict[tuple[str, int, int], dict[Direction, int]]:
    found: dict[tuple[str, int, int], dict[Direction, int]] = {}
    for meter, own in meters.items():
        for direction in Direction:
            for gap in filter(None, _chain(limits, own, direction).gaps.values()):
                found.setdefault((meter, gap.start, gap.end), {})[direction] = gap.mwh
    return found


def _statistics(readings: Sequence[Sent]) -> dict[tuple[str, int], Statistics]:
    largest: dict[tuple[str, int, str], int] = {}
    for each in readings:
        for name in set(QUANTITIES) & set(each.numbers):
            key, value = (each.meter, each.at, name), round(each.numbers[name] * 1000)
            largest[key] = max(value, largest.get(key, value))
    values: dict[tuple[str, int], dict[str, list[int]]] = {
        (each.meter, slot_of(each.at)): {} for each in readings
    }
    for (meter, at, name), value in largest.items():
        values[meter, slot_of(at)].setdefault(name, []).append(value)
    return {key: {name: Band.of(own) for name, own in found.items()} for key, found in values.items()}


def _numbers(meters: Mapping[str, Sequence[Sent]]) -> dict[str, str | None]:
    """The number that the newest reading with one tells; of several at a moment the last to arrive."""
    found: dict[str, str | None] = dict.fromkeys(meters)
    for meter, own in meters.items():
        told = [each for each in own if each.meter_number is not None]
        if told:
            found[meter] = max(told, key=lambda each: (each.at, each.received, each.origin)).meter_number
    return found
