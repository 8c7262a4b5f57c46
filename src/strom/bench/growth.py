"""Whether a message costs more when more meters are known: the same traffic over little and over much state."""

import time
from collections.abc import Callable

from strom.bench.report import best
from strom.pipeline.bench.lab import Lab
from strom.settings import Settings
from strom.store.schema import empty_tables

START_S = 1_763_229_600  # 2025-11-15T18:00:00Z, when every benchmark's messages begin
SENDING = 1_000  # meters that send, however many are known
BATCH = 100_000
BATCHES = 4


def cost_growth(
    lab: Lab, settings: Settings, few: int, many: int, report: Callable[[str], None]
) -> tuple[float, float]:
    """Microseconds per message with few and with many meters known; a first run generates and compiles the code."""
    _cost(lab, settings, few, report)
    return _cost(lab, settings, few, report), _cost(lab, settings, many, report)


def _cost(lab: Lab, settings: Settings, meters: int, report: Callable[[str], None]) -> float:
    empty_tables(settings.postgres_url)
    job = lab.store_job()
    found: list[float] = []
    try:
        # Every meter is known by two pushes before the sending ones go on.
        job.process(lab.readings_of(2 * meters, meters, START_S, first=0, active=meters), 0)
        for number in range(BATCHES):
            pushes = BATCH // SENDING
            batch = lab.readings_of(BATCH, meters, START_S, first=2 + number * pushes, active=SENDING)
            began = time.monotonic()
            job.process(batch, 1 + number)
            found.append((time.monotonic() - began) / BATCH * 1e6)
            report(f"{meters:,} meters known: {found[-1]:.1f} µs a message")
    finally:
        job.close()
    return best(found)
