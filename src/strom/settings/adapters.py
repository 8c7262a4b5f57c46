"""The adapters that Strom asks by itself, one entry each, and how the poller that asks them runs.

What does not fit together within one entry is refused here too; what an adapter answers is not this file's concern.
"""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field

from strom.durations import DURATION_PATTERN, duration
from strom.errors import StromError
from strom.settings.section import Section

REST, MODBUS = "rest", "modbus"
PORTS = {REST: 443, MODBUS: 502}
# No meter pushes more often than once a second: to ask much more often only keeps the box from its work.
SHORTEST_INTERVAL, LONGEST_INTERVAL = "0.1s", "1d"
# What only one of the two ways in can use.
_ONLY = {REST: ("token", "fingerprint", "ca_file", "path"), MODBUS: ("unit", "base", "name")}
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:(?P<port>[0-9]{1,5}))?")
# A name stands in topics, log lines and labels; a slash would make levels of it.
_NAME = re.compile(r"^[^/\x00-\x1f\x7f]{1,200}$")


class AdapterSettings(Section):
    by: Literal["rest", "modbus"] = Field(description="How to ask it: rest (JSON over HTTPS) or modbus.")
    address: str = Field(description="host or host:port; the port is 443 for rest and 502 for modbus.")
    interval: str = Field(
        "2s",
        pattern=DURATION_PATTERN,
        description="How often to ask: at least twice while the meter pushes once (5 s for most), so that no push is missed.",
    )
    timeout_seconds: float = Field(
        5.0, gt=0, le=300, description="How long connecting, TLS and the answer may take together."
    )
    token: str | None = Field(
        None, pattern=r"^[!-~]+$", description="Token of the REST API, from the adapter's web page."
    )
    fingerprint: str | None = Field(
        None,
        pattern=r"^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$",
        description="SHA-256 of the adapter's own certificate: no other one is spoken to.",
    )
    ca_file: Path | None = Field(
        None, description="Certificate authority that signed the adapter's certificate, in place of that."
    )
    path: str | None = Field(
        None, pattern=r"^/[!-~]*$", description="Path of the measurement; empty tries those that are known."
    )
    unit: int = Field(1, ge=0, le=255, description="Modbus unit id.")
    base: int | None = Field(
        None, ge=0, le=65535, description="Register at which the SunSpec map begins; empty looks for it."
    )
    name: str | None = Field(
        None,
        pattern=_NAME.pattern,
        description="What the meter is called by modbus; empty: the name or meter number that the device tells, else the entry's.",
    )

    @property
    def host(self) -> str:
        return self._parts[0]

    @property
    def port(self) -> int:
        return self._parts[1]

    @property
    def interval_seconds(self) -> float:
        return duration(self.interval) / 1000

    @property
    def pinned(self) -> bytes | None:
        """The certificate's SHA-256 as bytes."""
        return None if self.fingerprint is None else bytes.fromhex(self.fingerprint.replace(":", ""))

    @property
    def _parts(self) -> tuple[str, int]:
        found = _ADDRESS.fullmatch(self.address)
        port = PORTS[self.by] if found is None or found["port"] is None else int(found["port"])
        if found is None or not 0 < port < 65536:
            raise StromError(f"{self.address!r} is no address: write it as host or host:port.")
        return found["host"].strip("[]"), port

    def check(self, entry: str) -> None:
        """Refuse what does not fit together, by the name of the entry."""
        where = f"adapters.{entry}"
        if _NAME.fullmatch(entry) is None:
            raise StromError(
                f"{where} is no name for an adapter: at most 200 characters, no slash, no line breaks."
            )
        try:
            _ = self._parts, duration(self.interval, SHORTEST_INTERVAL, LONGEST_INTERVAL)
        except StromError as error:
            raise StromError(f"{where}: {error}") from None
        for way, names in _ONLY.items():
            for name in names:
                if way != self.by and name in self.model_fields_set:
                    raise StromError(f'{where}.{name} is only for by = "{way}"; leave it out.')
        if self.fingerprint is not None and self.ca_file is not None:
            raise StromError(
                f"{where} has a fingerprint and a ca_file: keep the one by which to know the adapter."
            )


class PollSettings(Section):
    client_id: str = Field("strom-poll", min_length=1, description="The poller's name at Kafka.")
    hold_messages: int = Field(
        500_000,
        ge=1,
        description="Answers held in memory at most while Kafka is away; then the poller pauses and counts that.",
    )
    hold_mb: int = Field(512, ge=1, description="The same in megabytes of payload.")
    status_seconds: float = Field(
        60, ge=0, description="How often a REST adapter is asked for its own state; 0 is never."
    )
    metrics_port: int | None = Field(
        None, ge=1, le=65535, description="Port of the poller's metrics for Prometheus; empty is none."
    )
    metrics_host: str = Field("127.0.0.1", description="Address that the poller's metrics listen on.")
