"""The HTTP gateway beside what bounds it: an endpoint of the same server that does nothing, and a bare producer loop."""

import base64
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

from strom.bench.http_load import Load, seconds_for
from strom.bench.notes import Notes
from strom.bench.report import Measure, Report, best
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
    singles: int = 60_000
    arrays: int = 600
    rounds: int = 5
    connections: int = 256
    array_connections: int = 16
    meters: int = 1_000


QUICK = GatewayPlan(singles=20_000, arrays=200, rounds=2)


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
        with Stack(self._settings, ("gateway",), report=self._notes.say):
            self._singles()
            self._arrays()
        return self._result

    def _singles(self) -> None:
        plan = self._plan
        bodies = [json.dumps({"value": value, "key": key}) for key, value in self._messages]
        writing = tuple(_request("POST", f"/produce/{TOPIC}", body) for body in bodies)
        nothing = tuple(_request("GET", "/health", body) for body in bodies)  # the same bytes, for nothing
        took: dict[str, list[float]] = {"empty endpoint": [], "single messages": []}
        for turn in range(-1, plan.rounds):  # the first is to warm up
            for name, requests in (("empty endpoint", nothing), ("single messages", writing)):
                seconds = self._load(
                    requests, plan.connections, plan.singles if turn >= 0 else plan.singles // 4
                )
                if turn >= 0:
                    took[name].append(seconds)
                    self._notes.say(
                        f"{name}, run {turn + 1} of {plan.rounds}: {plan.singles / seconds:,.0f}/s"
                    )
        limit, reached = (plan.singles / best(found) for found in took.values())
        self._notes.figures |= {
            "empty endpoint, requests/s": round(limit),
            "single messages/s": round(reached),
        }
        self._notes.add(
            Measure(
                "single messages",
                reached / limit,
                "of an endpoint that does nothing",
                f"{reached:,.0f}/s of {limit:,.0f}/s by {plan.connections} connections",
                at_least=0.5,
            )
        )

    def _arrays(self) -> None:
        plan = self._plan
        count = plan.arrays * ARRAY
        body = json.dumps([{"value": value, "key": key} for key, value in self._messages])
        request = (_request("POST", f"/produce/{TOPIC}", body),)
        bare: list[float] = []
        gateway: list[float] = []
        self._load(request, plan.array_connections, plan.arrays // 4)
        for turn in range(plan.rounds):
            bare.append(self._bare_loop(count))
            gateway.append(self._load(request, plan.array_connections, plan.arrays))
            self._notes.say(
                f"run {turn + 1} of {plan.rounds}: bare loop {count / bare[-1]:,.0f}/s, arrays {count / gateway[-1]:,.0f}/s"
            )
        limit, reached = count / best(bare), count / best(gateway)
        self._notes.figures |= {
            "bare producer loop, messages/s": round(limit),
            "in arrays, messages/s": round(reached),
        }
        self._notes.add(
            Measure(
                f"arrays of {ARRAY:,}",
                reached / limit,
                "of a bare producer loop",
                f"{reached:,.0f}/s of {limit:,.0f}/s by {plan.array_connections} connections",
                at_least=0.5,
            )
        )

    def _bare_loop(self, count: int) -> float:
        """As the gateway sends them: acks=all, idempotent, the same messages; until the last is confirmed."""
        producer = open_producer(self._settings, "bench")
        messages = [(key.encode(), value.encode()) for key, value in self._messages]
        producer.produce(TOPIC, b"to find the partitions and their leaders")
        producer.flush()
        began = time.perf_counter()
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
        return time.perf_counter() - began

    def _load(self, requests: tuple[str, ...], connections: int, count: int) -> float:
        own = self._settings.gateway
        return seconds_for(Load(own.host, own.port, requests, connections, max(count, connections)))


def _request(method: str, path: str, body: str) -> str:
    credentials = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {credentials}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}"
    )
