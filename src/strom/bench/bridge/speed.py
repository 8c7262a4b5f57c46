"""How fast the bridge carries a steady flow: beside a bare subscriber, and beside its peers where they are installed."""

import itertools
import time
from dataclasses import dataclass

from strom.bench.bridge.arrivals import Arrivals
from strom.bench.bridge.carriers import READY_SECONDS, Carrier, Running, Strom, Subscriber
from strom.bench.bridge.flood import BLOCK, Flood, flooding, publish, shared_count
from strom.bench.bridge.peers import Peer, peers_here
from strom.bench.bridge.plan import MEMORY, SPEED, Plan
from strom.bench.bridge.usage import usage
from strom.bench.notes import Notes
from strom.bench.report import Measure
from strom.devices.simulator import Fleet
from strom.errors import StromError
from strom.ingest.broker_watch import BrokerWatch
from strom.ingest.counters import Counters
from strom.mqtt.transport import Endpoint
from strom.settings import Settings
from strom.stack.mosquitto import COUNTS_SECONDS

START_MS = 1_763_229_600_000  # 2025-11-15T18:00:00Z, when every benchmark's messages begin
HUNDRED_THOUSAND = 100_000
ASKED_MB = 80
# Of a bare subscriber on the same machine, where no peer is there to be held against: what Telegraf reaches.
ASKED_OF_BARE = {0: 0.65, 1: 0.55}
_WARM_UP = 10_000
_SETTLED_SECONDS = 1.0


@dataclass(frozen=True)
class Carried:
    """What one run brought."""

    rate: float  # messages/s
    cpu_s: float  # for 100,000 messages
    peak_mb: float
    lost: int


class Speed:
    def __init__(self, settings: Settings, plan: Plan, notes: Notes) -> None:
        self._settings = settings
        self._plan = plan
        self._notes = notes
        self._runs = itertools.count(1)

    def measure(self) -> None:
        carriers: list[Carrier] = [Subscriber(), Strom(), *peers_here()]
        broker = Counters()
        watch = BrokerWatch(self._settings, broker)
        watch.open()
        peak = lost = 0.0
        for qos in (0, 1):
            found = self._in_turns(carriers, qos)
            best = {name: max(runs, key=lambda run: run.rate) for name, runs in found.items()}
            peak = max([peak, *(run.peak_mb for run in found[Strom.name])])
            lost += sum(run.lost for run in found[Strom.name])
            self._figures(best, qos)
            if self._plan.wants(SPEED):
                self._compare(best, qos)
        if self._plan.wants(MEMORY):
            self._memory(peak)
        time.sleep(COUNTS_SECONDS + 1)  # until Mosquitto has told its last counts
        watch.close()
        self._notes.figures["dropped by Mosquitto"] = broker.dropped
        self._lost(lost)

    def _in_turns(self, carriers: list[Carrier], qos: int) -> dict[str, list[Carried]]:
        """What disturbs one of them disturbs the others."""
        found: dict[str, list[Carried]] = {carrier.name: [] for carrier in carriers}
        for turn in range(self._plan.rounds):
            for carrier in carriers:
                carried = self._carry(carrier, qos)
                found[carrier.name].append(carried)
                self._notes.say(
                    f"{carrier.name}, QoS {qos}, run {turn + 1} of {self._plan.rounds}: {carried.rate:,.0f}/s, "
                    f"{carried.cpu_s:.2f} s of processor for 100,000"
                )
        return found

    def _carry(self, carrier: Carrier, qos: int) -> Carried:
        # A topic of its own: what a former session left behind must not be given this run's messages too.
        topic = f"bench-{next(self._runs)}"
        messages = _messages(self._plan.meters, topic)
        with carrier.running(self._settings, topic, qos) as running:
            self._await_ready(carrier, running, Flood(self._endpoint, messages, qos, BLOCK, BLOCK))
            self._flood(running, messages, qos, _WARM_UP)
            before = usage(running.pid)
            arrived, seconds = self._flood(running, messages, qos, self._plan.messages)
            after = usage(running.pid)
        cpu_s = (after.cpu_s - before.cpu_s) * HUNDRED_THOUSAND / max(arrived, 1)
        return Carried(arrived / seconds, cpu_s, after.peak_mb, self._plan.messages - arrived)

    @property
    def _endpoint(self) -> Endpoint:
        return Endpoint.of(self._settings)

    def _flood(
        self, running: Running, messages: list[tuple[str, bytes]], qos: int, count: int
    ) -> tuple[int, float]:
        """How many arrived, and how long it took from the first that was sent to the last that arrived."""
        flood = Flood(self._endpoint, messages, qos, count, self._plan.under_way)
        with Arrivals(running.total) as arrivals, flooding(flood, arrivals.count) as began:
            arrivals.await_count(count)
            return arrivals.count.value, arrivals.last_at - began

    def _await_ready(self, carrier: Carrier, running: Running, probe: Flood) -> None:
        """Until something comes out of it; then until no more of the probes does."""
        deadline = time.monotonic() + READY_SECONDS
        with Arrivals(running.total) as arrivals:
            while not arrivals.count.value:
                if time.monotonic() > deadline:
                    raise StromError(f"{carrier.name} carried nothing in {READY_SECONDS:.0f} s.", exit_code=1)
                publish(probe, shared_count(), arrivals.count)
                arrivals.await_count(1, _SETTLED_SECONDS)
            arrivals.await_count(1 << 62, _SETTLED_SECONDS)

    def _figures(self, best: dict[str, Carried], qos: int) -> None:
        for name, run in best.items():
            self._notes.figures |= {
                f"{name}, QoS {qos}, messages/s": round(run.rate),
                f"{name}, QoS {qos}, s of processor for 100,000": round(run.cpu_s, 2),
                f"{name}, QoS {qos}, peak MB": round(run.peak_mb),
            }

    def _compare(self, best: dict[str, Carried], qos: int) -> None:
        bridge, bare = best[Strom.name], best[Subscriber.name]
        peers = [peer for peer in peers_here() if peer.name in best]
        self._notes.add(
            Measure(
                f"bridge, QoS {qos}",
                bridge.rate / bare.rate,
                "of a bare subscriber",
                f"{bridge.rate:,.0f}/s of {bare.rate:,.0f}/s; {bridge.cpu_s:.2f} s of processor for 100,000",
                at_least=None if peers else ASKED_OF_BARE[qos],
            )
        )
        for peer in peers:
            self._beside(peer, bridge, best[peer.name], qos)

    def _beside(self, peer: Peer, bridge: Carried, other: Carried, qos: int) -> None:
        self._notes.add(
            Measure(
                f"bridge, QoS {qos}",
                bridge.rate / other.rate,
                f"of {peer.name}",
                f"{bridge.rate:,.0f}/s of {other.rate:,.0f}/s; {bridge.cpu_s:.2f} s of processor for 100,000 instead of "
                f"{other.cpu_s:.2f}; {bridge.peak_mb:.0f} MB instead of {other.peak_mb:.0f}",
                at_least=peer.ask,
            )
        )

    def _memory(self, peak_mb: float) -> None:
        self._notes.add(
            Measure(
                "memory of the bridge",
                peak_mb / ASKED_MB,
                f"of {ASKED_MB} MB, at its peak under load",
                f"{peak_mb:.0f} MB",
                at_most=1.0,
            )
        )

    def _lost(self, lost: float) -> None:
        sent = 2 * self._plan.rounds * self._plan.messages
        self._notes.add(
            Measure(
                "carried by the bridge",
                (sent - lost) / sent,
                "of what was published",
                f"{sent - lost:,.0f} of {sent:,} messages",
                at_least=1.0,
            )
        )


def _messages(meters: int, topic: str) -> list[tuple[str, bytes]]:
    """One push of each of some simulated adapters, on the topics they would use."""
    fleet = Fleet(meters, topic=topic)
    return [(push.topic, push.payload) for push in fleet.readings(START_MS, START_MS + 60_000, 60.0)]
