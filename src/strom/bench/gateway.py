"""The HTTP gateway beside what bounds it: an endpoint of the same server that does nothing, and a bare producer loop."""

import base64
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from confluent_kafka import Producer

from strom.bench.http_load import Load, seconds_for
from strom.bench.notes import Notes
from strom.bench.report import Measure, Report
from strom.devices.simulator.fleet import Fleet
from strom.ingest.gateway.passwords import make_hash
from strom.settings import Settings, UserSettings
from strom.stack.supervisor import Stack
from strom.streams.admin import create_topics, new_topic
from strom.streams.producer import open_producer

USER, PASSWORD = "bench", "only-for-this-run"  # of a gateway that ends with the benchmark
TOPIC = "bench"
START_MS = 1_763_229_600_000  # 2025-11-15T18:00:00Z
ARRAY = 1_000
_INTERVAL_S = 5.0


@dataclass(frozen=True)
class GatewayPlan:
    singles: int = 30_000
    arrays: int = 300
    rounds: int = 11
    warm_up: int = 150_000
    connections: int = 256
    array_connections: int = 16
    meters: int = 1_000


QUICK = GatewayPlan(singles=20_000, arrays=200, rounds=3, warm_up=30_000)


@dataclass(frozen=True)
class _Side:
    """One of two that are compared; `take` sends so many messages and returns the seconds."""

    name: str
    take: Callable[[int], float]


def with_gateway(settings: Settings, port: int) -> Settings:
    """The same with a gateway on this port and one user."""
    user = UserSettings(password=make_hash(PASSWORD))
    gateway = settings.gateway.model_copy(update={"host": "127.0.0.1", "port": port})
    return settings.model_copy(update={"gateway": gateway, "users": {USER: user}})


class GatewayBench:
    """`run` measures both ratios and tells what it is doing by `say`."""

    def __init__(self, settings: Settings, plan: GatewayPlan, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._result = Report(
            "strom bench gateway",
            f"{plan.singles:,} single messages by {plan.connections} connections, {plan.arrays:,} arrays of {ARRAY:,} by "
            f"{plan.array_connections}; {platform.machine()}, Python {platform.python_version()}",
        )
        self._notes = Notes(self._result, say)
        fleet = Fleet(plan.meters)
        pushes = fleet.readings(START_MS, START_MS + round(_INTERVAL_S * 1000), _INTERVAL_S)
        self._messages = [(push.adapter.key, push.payload.decode()) for push in pushes][:ARRAY]

    def run(self) -> Report:
        partitions = self._settings.kafka.partitions
        create_topics(
            self._settings,
            [new_topic(TOPIC, partitions=partitions, replication=1, compacted=False, retention_hours=1)],
        )
        size = sum(len(value) for _, value in self._messages) / len(self._messages)
        self._notes.figures["bytes of a message"] = round(size)
        self._warm_up()
        with Stack(self._settings, ("gateway",), report=self._notes.say):
            self._singles()
            self._arrays()
        return self._result

    def _warm_up(self) -> None:
        """As a broker is that has run for a while: what its Java compiles first is compiled, request by request."""
        self._notes.say(f"warming up with {self._plan.warm_up:,} messages, each in a request of its own")
        producer = open_producer(self._settings, "warm-up", **{"batch.num.messages": 1, "linger.ms": 0})
        self._send(producer, self._plan.warm_up)

    def _singles(self) -> None:
        plan = self._plan
        bodies = [json.dumps({"value": value, "key": key}) for key, value in self._messages]
        writing = tuple(_request("POST", f"/produce/{TOPIC}", body) for body in bodies)
        nothing = tuple(_request("GET", "/health", body) for body in bodies)  # the same bytes, for nothing
        self._compare(
            _Side("empty endpoint, requests", lambda count: self._load(nothing, plan.connections, count)),
            _Side("single messages", lambda count: self._load(writing, plan.connections, count)),
            plan.singles,
            "of an endpoint that does nothing",
            f"by {plan.connections} connections",
        )

    def _arrays(self) -> None:
        plan = self._plan
        body = json.dumps([{"value": value, "key": key} for key, value in self._messages])
        request = (_request("POST", f"/produce/{TOPIC}", body),)
        self._compare(
            _Side("bare producer loop, messages", self._bare_loop),
            _Side(
                f"arrays of {ARRAY:,}, messages",
                lambda count: self._load(request, plan.array_connections, count // ARRAY),
            ),
            plan.arrays * ARRAY,
            "of a bare producer loop",
            f"by {plan.array_connections} connections",
        )

    def _compare(self, limit: "_Side", own: "_Side", count: int, against: str, how: str) -> None:
        """In turns, each first in every other one: what disturbs one of a pair disturbs the other too."""
        for side in (limit, own):
            side.take(count // 4)  # to warm up
        pairs = []
        for turn in range(self._plan.rounds):
            sides = (limit, own) if turn % 2 == 0 else (own, limit)
            took = {side: side.take(count) for side in sides}
            pairs.append((took[limit], took[own]))
            told = ", ".join(f"{side.name} {count / took[side]:,.0f}/s" for side in (limit, own))
            self._notes.say(f"run {turn + 1} of {self._plan.rounds}: {told}")
        speeds = [count / median(each) for each in zip(*pairs, strict=True)]
        for side, speed in zip((limit, own), speeds, strict=True):
            self._notes.figures[f"{side.name}/s"] = round(speed)
        ratios = [limit_took / own_took for limit_took, own_took in pairs]
        self._notes.add(
            Measure(
                own.name.removesuffix(", messages"),
                median(ratios),
                against,
                f"{speeds[1]:,.0f}/s of {speeds[0]:,.0f}/s {how}; "
                f"the ratio was between {min(ratios):.2f} and {max(ratios):.2f}",
                at_least=0.5,
            )
        )

    def _bare_loop(self, count: int) -> float:
        """As the gateway sends them: acks=all, idempotent, the same messages; until the last is confirmed."""
        producer = open_producer(self._settings, "bench")
        producer.produce(TOPIC, b"to find the partitions and their leaders")
        producer.flush()
        began = time.perf_counter()
        self._send(producer, count)
        return time.perf_counter() - began

    def _send(self, producer: Producer, count: int) -> None:
        messages = [(key.encode(), value.encode()) for key, value in self._messages]
        for number in range(count):
            key, value = messages[number % len(messages)]
            while True:
                try:
                    producer.produce(TOPIC, value, key)
                    break
                except BufferError:
                    producer.poll(0.01)
            if not number % ARRAY:
                producer.poll(0)
        producer.flush()

    def _load(self, requests: tuple[str, ...], connections: int, count: int) -> float:
        own = self._settings.gateway
        return seconds_for(Load(own.host, own.port, requests, connections, max(count, connections)))


def _request(method: str, path: str, body: str) -> str:
    credentials = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {credentials}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}"
    )
