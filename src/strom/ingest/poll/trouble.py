"""What can go wrong between the poller and one adapter; the words are for a log line that a person reads once."""

import os
from enum import StrEnum


class Kind(StrEnum):
    """The label `kind` of the metric; each calls for something else to be done."""

    TOKEN = "token"  # noqa: S105 - the adapter does not take ours
    CERTIFICATE = "certificate"  # not the one that is trusted, or none is yet
    TIMEOUT = "timeout"
    CONNECTION = "connection"  # not reached, refused, or cut
    GARBAGE = "garbage"  # an answer that is not what it should be
    HTTP = "http"  # a status that says no
    MODBUS = "modbus"  # an exception, or no map to read


class Trouble(Exception):  # noqa: N818  a declared outcome of asking, not a fault of ours
    """One attempt has failed; its text says why and, where a person can help, what to do."""

    def __init__(self, kind: Kind, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def unreachable(error: OSError) -> Trouble:
    """For what the system says about a connection."""
    number = error.errno or 0  # negative where a name cannot be looked up
    words = os.strerror(number) if number > 0 else error.strerror or str(error)
    return Trouble(Kind.CONNECTION, f"cannot be reached: {words or type(error).__name__}")
