"""Habits are a function of the quarter-hours, in whatever order those were written, corrected or withdrawn."""

import random
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from strom.domain.alerts import NIGHT_LOAD, NO_EXPORT, SPIKE, Alert
from strom.domain.day_habits import EXPORT, NIGHT, DayHabit, DayLimits
from strom.domain.habits import spike_alerts, spikes_of
from strom.domain.load_profile import Half, Row
from strom.domain.segments import Quality
from strom.domain.slots import SLOT_MS, slots_from
from strom.pipeline.alerts.day_habits import DayHabits, day_limits
from strom.pipeline.alerts.habits import Spikes, spike_limits
from strom.pipeline.alerts.watch import write_alerts
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.settings import GroupSettings, Settings
from strom.store.alert_tables import Scope, load_alerts
from strom.store.position_tables import Settled
from strom.store.profile_tables import StoredRow, delete_rows, save_rows
from strom.store.writes import Writer

pytestmark = pytest.mark.stack
ZONE = "Europe/Vienna"
FIRST = date(2026, 3, 1)
DAYS = 40  # over the day on which the clocks change
Energy = tuple[int | None, int | None]  # import and export in mWh
Rows = dict[int, Energy]


def at(day: date, hour: int) -> int:
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=ZoneInfo(ZONE)).timestamp()) * 1000


def history(chance: random.Random) -> Rows:
    """Evenings, nights and middays of some weeks, with what should raise alerts and holes."""
    rows: Rows = {}
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        dark, awake = chance.random() < 0.1, chance.random() < 0.1
        for first, end in ((1, 5), (10, 16), (18, 20)):
            for start in slots_from(at(day, first), at(day, end)):
                high = (first == 18 and chance.random() < 0.05) or (awake and first == 1)
                watts = chance.randrange(2500, 6000) if high else chance.randrange(100, 300)
                export = None if chance.random() < 0.1 else 0 if dark or first != 10 else 300_000
                rows[start] = (None if chance.random() < 0.05 else watts * 250, export)
    return rows


@pytest.fixture
def outbox(stack: Settings) -> Outbox:
    return Outbox(stack)


@pytest.fixture
def writer(stack: Settings) -> Iterator[Writer]:
    with Writer(stack.postgres_url) as opened:
        yield opened


def stored(meter: str, start: int, energy: Energy) -> StoredRow:
    halves = [Half(mwh, Quality.MEASURED if mwh is not None else Quality.MISSING, 3) for mwh in energy]
    return StoredRow(meter, Row(start, *halves), None, 1)


class Written:
    """What the tables hold of one meter; `change` does what a batch does."""

    def __init__(self, settings: Settings, writer: Writer, outbox: Outbox, meter: str) -> None:
        self.limits, self.writer, self.outbox, self.meter = Limits(settings), writer, outbox, meter
        self.rows: Rows = {}
        self.judges = (Spikes(self.limits), DayHabits(NIGHT, self.limits), DayHabits(EXPORT, self.limits))

    def change(self, rows: dict[int, Energy | None]) -> None:
        """None withdraws a row."""
        written = {start: energy for start, energy in rows.items() if energy is not None}
        self.rows = {start: energy for start, energy in self.rows.items() if start not in rows} | written
        changed = {(self.meter, start): energy[0] if energy else None for start, energy in rows.items()}
        newest = max([*self.rows, *rows]) + SLOT_MS
        states = {self.meter: Settled(newest)}
        with self.writer.work() as work:
            save_rows(work, [stored(self.meter, *pair) for pair in written.items()])
            delete_rows(work, [(self.meter, start) for start, energy in rows.items() if energy is None])
            write_alerts(work, self.outbox, [judge.judged(work, changed, states) for judge in self.judges])

    def alerts(self) -> dict[str, Alert]:
        with self.writer.work() as work:
            scopes = [Scope(self.meter, kind, "", 0) for kind in (SPIKE, NIGHT_LOAD, NO_EXPORT)]
            return {alert.id: alert for alert in load_alerts(work, scopes)}

    def expected(self) -> dict[str, Alert]:
        """The pure function of all rows."""
        rules = self.limits.settings(self.meter)
        if not self.rows:
            return {}
        spikes = spikes_of({at: energy[0] for at, energy in self.rows.items()}, spike_limits(rules), ZONE)
        found = spike_alerts(self.meter, spikes, max(self.rows), ZONE)
        for habit in (NIGHT, EXPORT):
            told = self._told(habit, day_limits(rules))
            if told:
                found += habit.alerts(self.meter, told, min(told), day_limits(rules), ZONE)
        return {alert.id: alert for alert in found}

    def _told(self, habit: DayHabit, limits: DayLimits) -> dict[date, int]:
        told: dict[date, int] = {}
        for day in (FIRST + timedelta(days=number) for number in range(DAYS)):
            begin, end = habit.span(day, limits, ZONE)
            own = [self.rows[start] for start in slots_from(begin, end) if start in self.rows]
            values = [each for pair in own if (each := pair[0 if habit is NIGHT else 1]) is not None]
            if values and end <= max(self.rows) + SLOT_MS and 2 * len(values) * SLOT_MS >= end - begin:
                told[day] = min(values) if habit is NIGHT else sum(values)
        return told


@pytest.fixture
def own_rules() -> dict[str, int]:
    """In which the meter's group differs from the defaults."""
    return {}


@pytest.fixture
def written(
    stack: Settings,
    writer: Writer,
    outbox: Outbox,
    unique: Callable[[str], str],
    own_rules: dict[str, int],
) -> Written:
    meter = unique("habit")
    groups = {"own": GroupSettings.model_validate({"meters": [meter], **own_rules})}
    return Written(stack.model_copy(update={"groups": groups}), writer, outbox, meter)


OTHER_RULES = {
    "night_from_hour": 2,
    "night_to_hour": 3,
    "night_back_nights": 9,
    "night_warmup_nights": 4,
    "export_from_hour": 11,
    "export_to_hour": 14,
    "export_days": 5,
    "export_of_days": 6,
    "export_back_days": 8,
    "spike_back_weeks": 3,
    "spike_warmup_weeks": 2,
}


@pytest.mark.parametrize(("seed", "own_rules"), [(1, {}), (2, {}), (3, OTHER_RULES)])
def test_any_order_and_any_corrections_give_the_alerts_of_the_rows(written: Written, seed: int) -> None:
    """With other rules also where the only hour of the night is skipped by the clocks."""
    chance = random.Random(seed)
    full = history(chance)
    starts = sorted(full)
    batches = [starts[i : i + 70] for i in range(0, len(starts), 70)]
    batches.sort(key=lambda batch: batch[0] + chance.choice([0, 0, 0, 9 * 86_400_000]))
    kinds = set()
    for batch in batches:
        written.change({start: full[start] for start in batch})
        kinds |= {alert.kind for alert in written.alerts().values()}
        if chance.random() < 0.5:
            some = chance.sample(sorted(written.rows), 6)
            written.change({start: chance.choice([None, (50_000, 0), (900_000, 300_000)]) for start in some})
        if chance.random() < 0.3:
            assert written.alerts() == written.expected()
    assert written.alerts() == written.expected()
    assert kinds == {SPIKE, NIGHT_LOAD, NO_EXPORT}


def test_an_open_spike_closes_with_the_next_usual_quarter_hour(written: Written) -> None:
    monday = date(2026, 3, 30)
    weeks = [at(monday - timedelta(weeks=week), 18) for week in range(1, 5)]
    written.change({start + quarter * SLOT_MS: (100_000, 0) for start in weeks for quarter in range(4)})
    written.change({at(monday, 18): (1_500_000, 0)})
    assert [(alert.kind, alert.ended) for alert in written.alerts().values()] == [(SPIKE, None)]
    written.change({at(monday, 18) + SLOT_MS: (100_000, 0)})
    assert [alert.ended for alert in written.alerts().values()] == [at(monday, 18) + SLOT_MS]
    written.change({at(monday, 18): (110_000, 0)})  # a late reading says that it was not so
    assert written.alerts() == {}
