"""All that `strom bench bridge` measures, in one run on servers of its own."""

import platform
from collections.abc import Callable

from strom.bench.bridge.adapters import ManyAdapters
from strom.bench.bridge.peers import peers_here
from strom.bench.bridge.plan import ADAPTERS, MEMORY, SPEED, Plan
from strom.bench.bridge.speed import Speed
from strom.bench.notes import Notes
from strom.bench.report import Report
from strom.settings import Settings

SERVERS = ("kafka", "mqtt")


class BridgeBench:
    """`run` measures everything and tells what it is doing by `say`."""

    def __init__(self, settings: Settings, plan: Plan, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._plan = plan
        self._result = Report(
            "strom bench bridge",
            f"{plan.messages:,} messages of {plan.meters:,} adapters, best of {plan.rounds}; "
            f"{platform.machine()}, Python {platform.python_version()}",
        )
        self._notes = Notes(self._result, say)

    def run(self) -> Report:
        if self._plan.wants(SPEED, MEMORY):
            if not peers_here():
                self._notes.say(
                    "Telegraf is not on the PATH: the bridge is held against a bare subscriber only"
                )
            Speed(self._settings, self._plan, self._notes).measure()
        if self._plan.wants(ADAPTERS):
            ManyAdapters(self._settings, self._plan, self._notes).measure()
        return self._result
