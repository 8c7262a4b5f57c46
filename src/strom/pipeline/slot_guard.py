"""Takes task slots back from questions while the stream waits for one: Spark itself waits until a task ends.

The pools decide who gets a slot that is free, but a question may hold all that were free when it began, for as long as
its tasks last. While the stream waits, all tasks of questions but one are ended, of the largest question first; they run
again later. Questions that wait for each other are helped in the same way.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from strom.pipeline.pools import BATCHES, QUESTIONS, REAL_TIME
from strom.supervision import SupervisedThread

_IDLE_SECONDS, _BUSY_SECONDS = 0.5, 0.05  # between two looks: without questions, and beside them
_STARVED_SECONDS, _STOP_SECONDS = 1.0, 5.0

log = logging.getLogger(__name__)


class SlotGuard:
    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._stopped = threading.Event()
        self._starved_looks = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again within this block."""
        thread = SupervisedThread("slots", self._run, self._stopped, log)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        pause = _IDLE_SECONDS
        while not self._stopped.wait(pause):
            try:
                pause = _BUSY_SECONDS if self._look() else _IDLE_SECONDS
            except Py4JError as error:  # what is looked at changes meanwhile
                log.debug("slots could not be looked at: %s", error)

    def _look(self) -> bool:
        """Whether there are questions."""
        questions = self._task_sets(QUESTIONS)
        held = [_running(each) for each in questions]
        if questions and any(map(_waits, [*self._task_sets(REAL_TIME), *self._task_sets(BATCHES)])):
            self._end(surplus(held, 1), "the stream")
        self._share(questions, held)
        return bool(questions)

    def _share(self, questions: list[Any], held: list[list[int]]) -> None:
        """One that has waited for a second without any slot gets one of those who have several."""
        starved = any(not tasks and _waits(each) for each, tasks in zip(questions, held, strict=True))
        self._starved_looks = self._starved_looks + 1 if starved else 0
        if self._starved_looks * _BUSY_SECONDS >= _STARVED_SECONDS:
            self._starved_looks = 0
            if max(map(len, held)) > 1:
                self._end(surplus(held, sum(map(len, held)) - 1), "another question")

    def _end(self, tasks: list[int], whose: str) -> None:
        for task in tasks:
            self._context.killTaskAttempt(task, True, f"{whose} needs the slot")

    def _task_sets(self, name: str) -> list[Any]:
        pool = self._context.taskScheduler().rootPool().schedulableNameToSchedulable().get(name)
        return [] if pool is None else list(pool.schedulableQueue().toArray())


def surplus(held: list[list[int]], keep: int) -> list[int]:
    """Which tasks to end so that so many are left: the youngest of the question that has most, and of the oldest one."""
    left = [list(tasks) for tasks in held if tasks]
    ended: list[int] = []
    while sum(map(len, left)) > keep:
        ended.append(max(left, key=lambda tasks: (len(tasks), -min(tasks, default=0))).pop())
    return ended


def _running(task_set: Any) -> list[int]:
    told = task_set.runningTasksSet().mkString(",")
    return sorted(int(task) for task in told.split(",") if task)


def _waits(task_set: Any) -> bool:
    """Whether a task of it has no slot yet."""
    started = task_set.tasksSuccessful() + task_set.runningTasks()
    return not task_set.isZombie() and int(task_set.numTasks()) > int(started)
