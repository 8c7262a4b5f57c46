"""Puts a believable fleet into Kafka and Postgres: an hour of readings, days of quarter-hours, some alerts.

For the tests of the page and for its pictures. It writes by the contract of topics and tables, without the
pipeline that would write it in earnest.
"""

import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from confluent_kafka import Producer

from strom.domain.reading import time_text
from strom.settings import Settings
from strom.store.schema import connect
from strom.streams.topics import HEADER_PUBLISHED, READINGS

ZONE = ZoneInfo("Europe/Vienna")
KINDS = ("home", "home", "battery", "heat-pump", "solar")


@dataclass(frozen=True)
class House:
    name: str
    kind: str
    seed: int

    def watts(self, epoch_s: float) -> float:
        """Import minus export at a moment: smooth by the hour, with steps as devices go on and off."""
        local = datetime.fromtimestamp(epoch_s, ZONE)
        hour = local.hour + local.minute / 60
        chance = random.Random(f"{self.seed}/{int((epoch_s + 37 * self.seed) // 240)}")
        base = 180 + 20 * (self.seed % 9)
        evening = 420 * math.exp(-(((hour - 19.5) / 2.6) ** 2)) + 260 * math.exp(-(((hour - 7.3) / 1.4) ** 2))
        device = chance.choice((0, 0, 0, 90, 350, 1900)) if chance.random() < 0.6 else 0
        pump = 1650 if self.kind == "heat-pump" and chance.random() < 0.45 else 0
        sun = max(0.0, math.sin((hour - 7.0) / 9.6 * math.pi)) if 7.0 < hour < 16.6 else 0.0
        solar = (
            (5200 + 130 * (self.seed % 11)) * sun * (0.75 + 0.25 * chance.random())
            if self.kind == "solar"
            else 0
        )
        if self.kind == "battery" and hour > 17:
            return base - 2300 + 12 * math.sin(epoch_s / 7 + self.seed)
        return base + evening + device + pump - solar + 12 * math.sin(epoch_s / 7 + self.seed)


def houses(count: int) -> list[House]:
    return [House(f"Wohnung {number}", KINDS[number % len(KINDS)], number) for number in range(1, count + 1)]


def reading(
    meter: str = "m1", at: float | None = None, net_w: float = 500.0, **fields: Any
) -> dict[str, Any]:
    """One reading by the contract; `at` in epoch seconds, now if not given."""
    at_ms = round((time.time() if at is None else at) * 1000)
    power = {"import_w": round(max(net_w, 0)), "export_w": round(max(-net_w, 0))}
    stamps = {"at": time_text(at_ms), "received": time_text(fields.pop("received_ms", at_ms + 120))}
    return {"v": 1, "meter": meter, **stamps, "source": "mqtt", "clock": "meter"} | power | fields


def full_reading(house: House, at: float) -> dict[str, Any]:
    net = house.watts(at)
    wobble = random.Random(f"{house.seed}/{int(at)}")
    phases: dict[str, Any] = {}
    for phase, share in ((1, 0.5), (2, 0.3), (3, 0.2)):
        volts = 231 + wobble.gauss(0, 0.6) - net * share / 1500
        phases[f"voltage_l{phase}_v"] = round(volts, 1)
        phases[f"current_l{phase}_a"] = round(abs(net) * share / volts, 2)
    return reading(
        house.name,
        at,
        net,
        import_wh=round(8_300_000 + house.seed * 91_000 + at % 86_400 / 86_400 * 9_000),
        export_wh=round(2_100_000 + house.seed * 40_000) if house.kind == "solar" else 0,
        **phases,
        power_factor=0.97,
        frequency_hz=round(50 + wobble.gauss(0, 0.01), 2),
        meter_number=f"1KFM02{house.seed:08d}",
    )


class Feeder:
    """Writes to the servers of `settings`."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.postgres_url
        self._producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "linger.ms": 5})

    def send(self, *readings: dict[str, Any], published: bool = True) -> None:
        """Into the topic, acknowledged when this returns."""
        for each in readings:
            headers: dict[str, str | bytes | None] = {}
            if published:
                headers[HEADER_PUBLISHED] = str(round(time.time() * 1000))
            while True:
                try:
                    self._producer.produce(
                        READINGS, json.dumps(each).encode(), each["meter"].encode(), headers=headers
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.flush(30)

    def fill_hour(
        self, fleet: list[House], interval: int, now: float, gap: tuple[float, float] | None = None
    ) -> None:
        """The last hour up to now; nothing between the two ends of the gap (seconds before now)."""
        first = now - 3600
        for step in range(int(3600 / interval) + 1):
            at = first + step * interval
            if gap is None or not gap[1] < now - at < gap[0]:
                self.send_quietly(full_reading(house, at - house.seed % interval) for house in fleet)
        self._producer.flush(60)

    def send_quietly(self, readings: Iterator[dict[str, Any]]) -> None:
        for each in readings:
            self._producer.produce(READINGS, json.dumps(each).encode(), each["meter"].encode())
        self._producer.poll(0)

    def tariff(self, meter: str, number: int, start: datetime, *energies: float) -> None:
        """Quarter-hours of a tariff, one after the other."""
        rows = [(meter, number, start + i * timedelta(minutes=15), wh) for i, wh in enumerate(energies)]
        with connect(self._url) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO tariff_profile (meter, tariff, start, import_wh, quality, samples) "
                "VALUES (%s, %s, %s, %s, 'measured', 180)",
                rows,
            )

    def quarter_hours(self, fleet: list[House], day: date, until: float) -> None:
        """A local day of load profile: one substitute, one hour of gap, the rest measured."""
        start = datetime.combine(day, datetime.min.time(), ZONE).astimezone(UTC)
        rows = [row for house in fleet for row in _day_rows(house, start, until)]
        with connect(self._url) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO load_profile (meter, start, import_wh, export_wh, quality, samples, expected) "
                "VALUES (%s, %s, %s, %s, %s, 180, 180) ON CONFLICT DO NOTHING",
                rows,
            )

    def alert(self, identity: str, meter: str, kind: str = "silent", **fields: Any) -> None:
        started = fields.get("started") or datetime.now(UTC) - timedelta(minutes=12)
        with connect(self._url) as connection:
            connection.execute(
                "INSERT INTO alerts (id, meter, kind, severe, started, ended, value, threshold, text) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
                "ON CONFLICT (id) DO UPDATE SET ended = excluded.ended",
                (
                    identity,
                    meter,
                    kind,
                    fields.get("severe", False),
                    started,
                    fields.get("ended"),
                    fields.get("value"),
                    fields.get("threshold"),
                    fields.get("text", f"{meter}: {kind}"),
                ),
            )

    def many_alerts(self, mark: str, count: int) -> None:
        """Open alerts `mark-1`, `mark-2`, … of as many meters, the first one the oldest, a second apart."""
        with connect(self._url) as connection:
            connection.execute(
                "INSERT INTO alerts (id, meter, kind, started, text) SELECT %(mark)s || '-' || n, %(mark)s || '-' || n, "
                "'silent', now() - interval '30 days' + n * interval '1 second', 'silent' FROM generate_series(1, %(count)s) n",
                {"mark": mark, "count": count},
            )

    def withdraw(self, identity: str) -> None:
        """The alerts whose ids begin so are gone, as after a late reading that disproves them."""
        with connect(self._url) as connection:
            connection.execute("DELETE FROM alerts WHERE starts_with(id, %s)", (identity,))


def _day_rows(house: House, start: datetime, until: float) -> Iterator[tuple[Any, ...]]:
    for number in range(96):
        slot = start + number * timedelta(minutes=15)
        if slot.timestamp() + 900 > until:
            return
        if 44 <= number < 48:
            continue  # a gap of an hour
        powers = [house.watts(slot.timestamp() + second) for second in range(0, 900, 60)]
        drawn = sum(max(0.0, each) for each in powers) / 60
        fed = sum(max(0.0, -each) for each in powers) / 60
        quality = "substitute" if number in (43, 48) else "measured"
        yield house.name, slot, round(drawn, 3), round(fed, 3), quality
