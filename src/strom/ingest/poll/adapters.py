"""Which adapters the settings name, each with the way to ask it."""

from collections.abc import Collection

from strom.errors import StromError
from strom.ingest.poll.asking import Asking
from strom.ingest.poll.modbus import ModbusAdapter
from strom.ingest.poll.rest import RestAdapter
from strom.settings import REST, AdapterSettings, Settings


def chosen(settings: Settings, ways: Collection[str]) -> dict[str, AdapterSettings]:
    """The entries that are asked in one of these ways; refused if there is none."""
    found = {entry: adapter for entry, adapter in settings.adapters.items() if adapter.by in ways}
    if not found:
        raise StromError(
            f"No adapter is set to be asked by {' or '.join(ways)}: put [adapters.NAME] with by and address "
            "into strom.toml."
        )
    return found


def asking(entry: str, adapter: AdapterSettings) -> Asking:
    return RestAdapter(entry, adapter) if adapter.by == REST else ModbusAdapter(entry, adapter)
