"""Several senders at once, in threads and processes, that take turns with the meters.

In each turn a meter belongs to one sender; the next one may take it when all that was sent before is written.
"""

import multiprocessing
import threading
from multiprocessing.synchronize import Barrier
from typing import Any

from strom.settings import Settings
from strom.streams import Producer

PROCESSES, THREADS = 2, 2
SENDERS = PROCESSES * THREADS
METERS = [f"haus-{number}" for number in range(12)]
TURNS = 4
SECONDS = 120.0


def run_senders(settings: Settings, topic: str, each: int, **choices: Any) -> None:
    """Every meter sends its count, `each` times a turn, by one sender after the other; until all is written."""
    context = multiprocessing.get_context("spawn")
    turn = context.Barrier(SENDERS)
    processes = [
        context.Process(target=_process, args=(settings, topic, number, turn, each, choices))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(SECONDS * 2)
    assert [process.exitcode for process in processes] == [0] * PROCESSES


def _process(
    settings: Settings, topic: str, number: int, turn: Barrier, each: int, choices: dict[str, Any]
) -> None:
    failures: list[BaseException] = []

    def run(sender: int) -> None:
        try:
            _send(settings, topic, sender, turn, each, choices)
        except BaseException as error:
            failures.append(error)
            turn.abort()

    threads = [threading.Thread(target=run, args=(number * THREADS + index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _send(
    settings: Settings, topic: str, sender: int, turn: Barrier, each: int, choices: dict[str, Any]
) -> None:
    with Producer(settings, timeout=SECONDS, **choices) as producer:
        for number in range(TURNS):
            mine = [meter for place, meter in enumerate(METERS) if (place + number) % SENDERS == sender]
            for count in range(number * each, (number + 1) * each):
                for meter in mine:
                    producer.send(topic, str(count), key=meter)
            producer.flush()
            turn.wait(SECONDS)
