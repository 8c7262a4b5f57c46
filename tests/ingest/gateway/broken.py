"""The gateway's process with something in it that fails: `python -m tests.ingest.gateway.broken WHAT gateway`.

What fails does so for as long as there is a file named after it in the home.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import confluent_kafka

from strom.cli.main import main
from strom.ingest.gateway import daemon_threads, fetching, instance, run
from strom.ingest.gateway.producers import Producers
from strom.ingest.gateway.users import Users
from strom.ingest.gateway.writers import Writers
from strom.streams import closing

Result = TypeVar("Result")
WHAT = sys.argv.pop(1)
SWITCH = Path(os.environ["STROM_HOME"]) / WHAT


def unless_broken(work: Callable[..., Result], fail: Callable[[], object]) -> Callable[..., Result]:
    def done(*given: Any, **named: Any) -> Result:
        if SWITCH.exists():
            fail()
        return work(*given, **named)

    return done


def block() -> None:
    threading.Event().wait()


def fail() -> None:
    raise RuntimeError("broken by the test")


class ConsumerThatBlocks(confluent_kafka.Consumer):
    """In the call of Kafka's client that the test names."""


def main_of_test() -> None:
    closing.CLOSE_SECONDS = daemon_threads.GRACE_SECONDS = 2.0
    match WHAT:
        case "close" | "poll" | "commit":
            setattr(ConsumerThatBlocks, WHAT, unless_broken(getattr(confluent_kafka.Consumer, WHAT), block))
            fetching.Consumer = instance.Consumer = ConsumerThatBlocks  # type: ignore[attr-defined]
        case "users":
            Users.refresh = unless_broken(Users.refresh, fail)  # type: ignore[method-assign]
        case "reports":
            Producers.poll = unless_broken(Producers.poll, fail)  # type: ignore[method-assign]
        case "stop":
            run._STOP_SECONDS = 2.0
            Writers.close = unless_broken(Writers.close, block)  # type: ignore[method-assign]
        case _:
            raise ValueError(WHAT)
    main()


if __name__ == "__main__":
    main_of_test()
