"""One run at one rate, on a stack of its own: warm-up, the measured span, and until everything has arrived."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from strom.bench.bridge.adapters import stamp_on_arrival
from strom.bench.ground import own_servers
from strom.bench.sustained.arrivals import read_arrivals
from strom.bench.sustained.load import Load, LoadProcess, loading
from strom.bench.sustained.measured import CAUGHT_UP_S, Measured
from strom.bench.sustained.plan import Limits, Plan
from strom.bench.sustained.processor import Snapshot, difference, snapshot
from strom.bench.sustained.watch import Watch
from strom.errors import StromError
from strom.mqtt.transport import Endpoint
from strom.settings import Settings
from strom.stack.state import status
from strom.streams import topics

PARTS = ("kafka", "mqtt", "postgres", "bridge", "pipeline", "page")
LABELS = {"kafka": "Kafka", "mqtt": "Mosquitto", "postgres": "Postgres"}
LOAD, MEASURING = "load generator", "supervisor and measuring"
INTERRUPTED = "interrupted"
LOOK_SECONDS = 1.0
SETTLED_SECONDS = 10.0  # for which `readings` has to be less than CAUGHT_UP_S behind
WARM_UP_SECONDS = 180.0  # at most
ARRIVAL_SECONDS, STOPPED_SECONDS = 180.0, 20.0  # for what is on its way; the latter after Ctrl-C
LAKE_SECONDS = 60.0
HOPELESS_S = 10.0  # behind in `readings`: p99 cannot be a second any more


class Stop:
    """Ctrl-C: it interrupts the start of a stack, and ends a run that is being measured in good order."""

    def __init__(self) -> None:
        self.starting = False
        self._event = threading.Event()

    def request(self) -> None:
        self._event.set()
        if self.starting:
            self.starting = False
            raise KeyboardInterrupt

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)


@dataclass(frozen=True)
class Trial:
    """`decides`: it goes on to its end whatever it finds, and counts the lake too."""

    settings: Settings
    plan: Plan
    rate: int
    decides: bool
    stop: Stop
    say: Callable[[str], None]
    tick: Callable[[str], None]

    def run(self) -> Measured:
        meters = self.plan.meters_at(self.rate)
        self.say(f"▸ {self.rate:,} messages/s of {meters:,} meters: starting the stack")
        self.stop.starting = True
        with own_servers(self.settings, _silent, PARTS) as own:
            self.stop.starting = False
            for topic in (topics.READINGS, topics.DEAD_LETTER):
                stamp_on_arrival(own, topic)
            load = Load(Endpoint.of(own), own.mqtt.topic, self.rate, meters)
            with loading(load) as process:
                watch = Watch(own, process)
                try:
                    return _Run(self, own, process, watch).measure()
                finally:
                    watch.close()


class _Run:
    def __init__(self, trial: Trial, own: Settings, load: LoadProcess, watch: Watch) -> None:
        self._trial = trial
        self._own = own
        self._load = load
        self._watch = watch
        self._found = Measured(trial.rate, load.load.meters)
        self._limits = Limits()

    def measure(self) -> Measured:
        found = self._found
        try:
            self._warm_up()
            if not found.ended:
                self._span()
            # Of a probe that has failed nothing more is asked.
            if found.was_measured and found.ended in ("", INTERRUPTED):
                self._await_arrival()
                self._count()
        except StromError as error:  # a part that is overwhelmed does not answer
            found.ended = str(error)
        return found

    def _warm_up(self) -> None:
        """Until the code is generated and compiled, and what has piled up meanwhile is through."""
        watch, least = self._watch, self._trial.plan.warm_up_s
        began = settled = time.monotonic()
        in_tables = False
        while not self._trial.stop.wait(LOOK_SECONDS):
            now = time.monotonic()
            self._look("warming up", now - began, least)
            if watch.readings.last >= CAUGHT_UP_S:
                settled = now
            # A batch that takes a while is as far behind when it is in, and twice as far before the next one is.
            in_tables |= watch.all_in_tables and watch.tables.last < self._limits.tables_s / 2
            if in_tables and now >= max(settled + SETTLED_SECONDS, began + least):
                return
            if now - began > WARM_UP_SECONDS:
                if not self._trial.decides:
                    self._found.ended = f"not caught up {WARM_UP_SECONDS:.0f} s after the start"
                return
        self._found.ended = INTERRUPTED

    def _note_caught_up(self) -> None:
        if self._found.caught_up_s is not None:
            return
        at = self._watch.readings.caught_up_at(CAUGHT_UP_S)
        if at is not None:
            self._found.caught_up_s = at - self._load.counts.began_ms.value / 1000

    def _span(self) -> None:
        trial, found, counts = self._trial, self._found, self._load.counts
        seconds = trial.plan.seconds if trial.decides else trial.plan.probe_seconds
        began_s, began = time.time(), time.monotonic()
        self._note_caught_up()
        self._since_ms = self._watch.measure_page()
        before, sent, counts.late_ms.value = self._snapshot(), counts.sent.value, 0
        while (passed := time.monotonic() - began) < seconds and not found.ended:
            if trial.stop.wait(min(LOOK_SECONDS, max(0.0, seconds - passed))):
                found.ended = INTERRUPTED
            self._look("measuring", time.monotonic() - began, seconds)
            if not trial.decides:
                found.ended = found.ended or self._hopeless()
        # The load ends here; what it costs to end it is no part of the span.
        found.sent, found.late_ms = counts.sent.value - sent, counts.late_ms.value
        found.seconds = time.monotonic() - began
        found.used = difference(before, self._snapshot())
        self._watch.look_at_topics(counts.sent.value, time.time())
        found.waiting = round(self._watch.readings.last * trial.rate)
        self._load.stop()
        self._until_ms = round(time.time() * 1000)
        found.first_tables_s = self._watch.tables.until(began_s).maximum
        found.first_readings_s = self._watch.readings.until(began_s).maximum
        found.readings, found.tables = self._watch.readings.since(began_s), self._watch.tables.since(began_s)
        found.newest, found.slots = self._watch.newest.since(began_s), dict(self._watch.slots)
        found.page_expected = found.sent * len(self._watch.shown) / found.meters
        self._note_caught_up()
        self._note_end()

    def _hopeless(self) -> str:
        """Why there is no need to go on; the limits of all that follows can only be missed by more."""
        if self._watch.readings.last > HOPELESS_S:
            return f"readings {self._watch.readings.last:.0f} s behind"
        if self._watch.tables.last > self._limits.tables_s:
            return f"tables {self._watch.tables.last:.0f} s behind"
        return ""

    def _note_end(self) -> None:
        found = self._found
        found.published = self._load.counts.confirmed.value
        found.page_ms = list(self._watch.page.latencies.values)
        found.restarts = {name: part["restarts"] for name, part in status(self._own).items() if "pid" in part}

    def _await_arrival(self) -> None:
        began = time.monotonic()
        patience = STOPPED_SECONDS if self._trial.stop.requested else ARRIVAL_SECONDS
        while not self._watch.is_complete() and time.monotonic() - began < patience:
            self._trial.tick(f"{self._trial.rate:,}/s, waiting for what is on its way")
            time.sleep(LOOK_SECONDS / 4)

    def _count(self) -> None:
        found = self._found
        self._note_end()
        found.up_to_date = self._watch.meters_up_to_date(), self._watch.meters_sent()
        self._trial.tick(f"{self._trial.rate:,}/s, counting what has arrived")
        found.arrived = read_arrivals(self._own, self._since_ms, self._until_ms)
        if self._trial.decides and not self._trial.stop.requested:
            found.in_lake = self._in_lake(found.arrived.readings)

    def _in_lake(self, wanted: int) -> int | None:
        """As `strom lake status` tells; it may get there later than the tables."""
        deadline = time.monotonic() + LAKE_SECONDS
        # Options that have Java say something (a recording of it, say) would have it say that here, too.
        spark = self._own.spark.model_copy(update={"java_options": None})
        environment = self._own.model_copy(update={"spark": spark}).child_environment()
        while True:
            done = subprocess.run(
                [sys.executable, "-m", "strom", "lake", "status", "--json"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            count = int(json.loads(done.stdout)["readings"]) if done.returncode == 0 else None
            if count == wanted or time.monotonic() > deadline or self._trial.stop.requested:
                return count

    def _look(self, state: str, passed: float, seconds: float) -> None:
        watch = self._watch
        watch.look()
        waiting = watch.waiting.for_kafka + watch.waiting.for_readings
        self._trial.tick(
            f"{self._trial.rate:,}/s, {state} {passed:.0f} of {seconds:.0f} s: readings {watch.readings.last:.1f} s behind, "
            f"tables {watch.tables.last:.1f} s, page {watch.page_lag_s():.1f} s; {waiting:,} waiting"
        )

    def _snapshot(self) -> Snapshot:
        pids = {
            LABELS.get(name, name): part["pid"] for name, part in status(self._own).items() if "pid" in part
        }
        return snapshot(pids | {LOAD: self._load.pid, MEASURING: os.getpid()})


def _silent(_: str) -> None:
    return
