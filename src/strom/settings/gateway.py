"""The HTTP gateway: where it listens, how much it takes at once, and who may use it.

A password stands here only as a hash; how one is made and checked is in `ingest/gateway/passwords.py`.
"""

import base64
import binascii
import re
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from strom.settings.section import Section

MB = 1 << 20
USER_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$"  # never a colon: that ends the name in HTTP Basic
_HASH = re.compile(r"scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]+={0,2})")
_MOST_MEMORY = 256 * MB  # one check of a password may take so much


class PasswordHash(NamedTuple):
    """What `scrypt$n$r$p$salt$hash` says."""

    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None if it is no hash that can be checked."""
        found = _HASH.fullmatch(text)
        if found is None:
            return None
        n, r, p = (int(found[place]) for place in (1, 2, 3))
        try:
            salt, digest = (base64.b64decode(found[place], validate=True) for place in (4, 5))
        except binascii.Error:
            return None
        power_of_two = n > 1 and n & (n - 1) == 0
        usable = power_of_two and r > 0 and 0 < p <= 16 and 128 * n * r <= _MOST_MEMORY and len(digest) >= 16
        return cls(n, r, p, salt, digest) if usable else None

    def __str__(self) -> str:
        salt, digest = (base64.b64encode(each).decode() for each in (self.salt, self.digest))
        return f"scrypt${self.n}${self.r}${self.p}${salt}${digest}"


def _only_a_hash(text: str) -> str:
    if PasswordHash.parse(text) is None:
        raise PydanticCustomError(
            "no_hash",
            "only the hash of a password may stand here; delete this user and run `strom users add`, which makes one",
        )
    return text


class UserSettings(Section):
    password: Annotated[str, AfterValidator(_only_a_hash)] = Field(
        description="Hash of the password, made by `strom users add`."
    )
    topics: list[Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9._-]+\*?|\*)$")]] = Field(
        ["*"], min_length=1, description="Topics the user may use: names, or beginnings that end in *."
    )
    rights: Literal["full", "produce", "consume"] = Field(
        "full", description="Whether the user may write, read or both."
    )


class GatewaySettings(Section):
    host: str = Field("127.0.0.1", description="Address the HTTP gateway listens on.")
    port: int = Field(8090, description="Port of the HTTP gateway.")
    max_body: int = Field(8 * MB, ge=1024, description="Largest request the gateway takes, in bytes.")
    inflight: int = Field(
        20_000,
        ge=1,
        description="Messages that each process of the gateway holds at most until Kafka has confirmed them; more are answered with 429.",
    )
    inflight_bytes: int = Field(
        64 * MB, ge=1024, description="Bytes of requests held at most until Kafka has confirmed them."
    )
    body_seconds: float = Field(
        60, ge=1, description="How long a request may take to come whole before the answer is 408."
    )
    writers: int = Field(
        2,
        ge=0,
        le=64,
        description="Processes that write bodies over 64 KiB for the gateway, started by the first one; 0: it does that itself.",
    )
    send_seconds: float = Field(
        5, ge=1, le=300, description="How long Kafka may take to confirm before the answer is 503."
    )
    consumers: int = Field(
        50, ge=0, description="Consumers that the gateway keeps at most, of all users together."
    )
    consumer_idle_seconds: float = Field(
        300, ge=1, description="A consumer that nobody has asked for this long is closed."
    )
    read_records: int = Field(500, ge=1, le=10_000, description="Records in one answer at most.")
