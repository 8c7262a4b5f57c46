"""Asks every adapter once and puts into words what came of it, for whoever has just written the settings."""

import asyncio
import time

from strom.devices import adapter_json
from strom.domain.reading import Rejected
from strom.ingest.poll.adapters import asking, chosen
from strom.ingest.poll.trouble import Trouble
from strom.settings import MODBUS, REST, AdapterSettings, Settings

AT_ONCE = 50  # adapters


async def check_all(settings: Settings) -> list[tuple[str, bool]]:
    """A line for each adapter, in the order of the settings, and whether all is well."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(entry: str, adapter: AdapterSettings) -> tuple[str, bool]:
        async with turn:
            return await _check(entry, adapter)

    entries = chosen(settings, (REST, MODBUS))
    return await asyncio.gather(*(one(*each) for each in entries.items()))


async def _check(entry: str, adapter: AdapterSettings) -> tuple[str, bool]:
    where = f"{entry} ({adapter.by}, {adapter.address})"
    asked = asking(entry, adapter)
    try:
        payload = await asked.ask()
        reading = adapter_json.decode(
            payload, received_ms=time.time_ns() // 1_000_000, source=adapter.by, topic=entry
        )
    except Trouble as trouble:
        return f"{where}: {trouble}", False
    except Rejected as rejected:
        return f"{where}: it answers, but {rejected.detail}", False
    finally:
        await asked.close()
    energy = f"{reading['import_wh']:,} Wh" if "import_wh" in reading else "no energy counter"
    return f"{where}: meter {reading['meter']}, {energy}", True
