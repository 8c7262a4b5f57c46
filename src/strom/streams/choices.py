"""How safely and how densely a producer writes, as a person chooses it; what does not go together is refused."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from strom.errors import StromError

Acks = Literal["0", "1", "all"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
ACKS: tuple[str, ...] = get_args(Acks)
COMPRESSIONS: tuple[str, ...] = get_args(Compression)
# Until a message that Kafka does not confirm is given up: a broker that is away for a minute, or starts anew after that,
# loses nobody a message.
TIMEOUT_SECONDS = 300.0
TRANSACTION_SECONDS = 300.0  # a transaction that is open for longer is ended by the broker
LINGER_MS = 5
# Messages that may be under way before a sender waits: each is a future, and many more of them keep Python's collector
# busier than the line.
UNDER_WAY = 10_000


@dataclass(frozen=True)
class Choices:
    acks: str = "all"
    compression: str = "lz4"
    idempotent: bool | None = None  # None: wherever all acknowledge
    transactional: str | None = None  # the id
    sync: bool = False
    timeout: float = TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        if self.acks not in ACKS:
            raise StromError(f"acks {self.acks!r} is unknown: choose {', '.join(ACKS)}.")
        if self.compression not in COMPRESSIONS:
            raise StromError(
                f"compression {self.compression!r} is unknown: choose {', '.join(COMPRESSIONS)}."
            )
        if self.idempotent and self.acks != "all":
            raise StromError(
                f"idempotent needs acks all, not {self.acks}: only what all copies have is known to be there once."
            )
        if self.transactional is not None and (self.acks != "all" or self.idempotent is False):
            given = "--no-idempotent" if self.acks == "all" else f"acks {self.acks}"
            raise StromError(f"transactional needs acks all and idempotent; leave out {given}.")
        if self.transactional == "":
            raise StromError(
                "transactional needs an id: one name for each producer that may run at the same time."
            )
        if not self.timeout > 0:
            raise StromError(f"timeout {self.timeout:g} is too short: give it some seconds.")

    @property
    def is_idempotent(self) -> bool:
        return self.acks == "all" if self.idempotent is None else self.idempotent

    def config(self) -> dict[str, Any]:
        """As the client library is told."""
        told: dict[str, Any] = {
            "acks": self.acks,
            "compression.type": self.compression,
            "enable.idempotence": self.is_idempotent,
            "linger.ms": 0 if self.sync else LINGER_MS,
            "message.timeout.ms": round(self.timeout * 1000),
            "queue.buffering.max.messages": UNDER_WAY,
        }
        if not self.is_idempotent:
            # Else a message that is tried again could be overtaken by the next one.
            told["max.in.flight.requests.per.connection"] = 1
        if self.transactional is not None:
            told |= {
                "transactional.id": self.transactional,
                "transaction.timeout.ms": round(TRANSACTION_SECONDS * 1000),
                "message.timeout.ms": round(min(self.timeout, TRANSACTION_SECONDS) * 1000),
            }
        return told
