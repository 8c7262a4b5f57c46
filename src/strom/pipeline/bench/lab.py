"""Runs parts of the pipeline and the bare Spark jobs beside them, and tells how long each took; what it means is for others to say."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from strom.errors import StromError
from strom.pipeline import synthetic
from strom.pipeline.bench import frames
from strom.pipeline.bench.lookups import LookUps
from strom.pipeline.ending import reason_of
from strom.pipeline.job import Pipeline
from strom.pipeline.normalise import normalise
from strom.pipeline.queries import Trigger, source, start_normalise
from strom.pipeline.quiet import quiet_session
from strom.pipeline.readings import typed_readings
from strom.pipeline.stages import STORE_STAGES
from strom.pipeline.store_job import StoreJob
from strom.settings import Settings
from strom.streams import topics


@dataclass(frozen=True)
class Took:
    """Time by the clock and of the processors, in µs a message."""

    us: float
    cpu_us: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return 1e6 / self.us

    def __add__(self, other: "Took") -> "Took":
        return Took(self.us + other.us, self.cpu_us + other.cpu_us)


@contextmanager
def open_lab(settings: Settings) -> Iterator["Lab"]:
    """What Spark itself has to say goes to a log."""
    with quiet_session(settings, "bench") as spark:
        yield Lab(settings, spark)


class Lab:
    """One session for all runs, as in the running pipeline; the servers must be there."""

    def __init__(self, settings: Settings, spark: SparkSession) -> None:
        self._settings = settings
        self._spark = spark
        self._jvm: Any = self._spark._jvm
        self._runs = 0
        self._filled = 0
        self._spark.sparkContext.setLogLevel("OFF")  # a real-time query that is stopped writes pages of it

    def fill(self, count: int, meters: int, start_s: int) -> None:
        frames.fill(synthetic.messages(self._spark, count, meters, start_s), self._settings, topics.RAW)
        self._filled = count

    def batch_runs(self, share: float = 1.0) -> dict[str, Callable[[], Took]]:
        """The jobs over a share of the raw topic as one batch to nowhere; each plan is built once, as in a running query."""
        count = round(share * self._filled)
        until = None if share == 1.0 else count // self._settings.kafka.partitions
        raw = frames.read(self._spark, self._settings, topics.RAW, until)
        made = {"read": raw, "from_json": frames.bare_parse(raw), "normalise": normalise(raw)}
        return {name: lambda frame=frame: self._timed_batch(frame, count) for name, frame in made.items()}  # type: ignore[misc]

    def normalise_all(self) -> Took:
        """The raw topic to `readings`, as the pipeline does with a backlog."""
        with self._timed() as took:
            Pipeline(self._settings, ("normalise",)).catch_up(self._spark)
        return took(self._filled)

    def store_all(self, size: int, *, profile_alone: bool, on_batch: Callable[[int], None]) -> Took:
        """`readings` to the tables (and lake and topics) in micro-batches of `size`; each has a checkpoint of its own."""
        job = StoreJob(
            self._settings, self._spark, ("profile",) if profile_alone else STORE_STAGES, alone=profile_alone
        )

        def process(batch: DataFrame, batch_id: int) -> None:
            job.process(batch, batch_id)
            on_batch(batch_id)

        try:
            readings = typed_readings(self._readings(size), job.fields)
            return self._batches(readings.writeStream.foreachBatch(process), job.settle)
        finally:
            job.close()

    def windows_all(self, size: int, *, parsed_once: bool = False) -> Took:
        """The bare windows over `readings`, in the same micro-batches and with Spark's own state."""
        windows = frames.bare_windows(self._readings(size), parsed_once=parsed_once)
        return self._batches(windows.writeStream.format("noop").outputMode("update"))

    def readings_of(self, count: int, meters: int, start_s: int, *, first: int, active: int) -> DataFrame:
        """A micro-batch of readings that only `active` of the meters sent, without the way through Kafka."""
        raw = synthetic.as_raw(
            synthetic.messages(self._spark, count, meters, start_s, first=first, active=active)
        )
        return typed_readings(synthetic.as_records(normalise(raw))).localCheckpoint()

    @property
    def spark(self) -> SparkSession:
        return self._spark

    def look_ups(self) -> LookUps:
        """In the lake that `store_all` has filled."""
        return LookUps(self._settings, self._spark)

    def store_job(self, settings: Settings, clock: Callable[[], float]) -> StoreJob:
        return StoreJob(settings, self._spark, clock=clock)

    @contextmanager
    def normalising(self, *, realtime: bool) -> Iterator[None]:
        """`normalise` at work on what comes, in real-time mode or in micro-batches as fast as they go."""
        query = start_normalise(
            self._spark,
            self._settings,
            Trigger.REAL_TIME if realtime else Trigger.MICRO_BATCHES,
            self._new_checkpoint(),
            start="latest",
        )
        try:
            while query.isActive and query.lastProgress is None and not query.status["isTriggerActive"]:
                time.sleep(0.05)
            yield
            if query.exception() is not None:
                raise StromError(f"normalise ended: {reason_of(query.exception())}", exit_code=1)
        finally:
            query.stop()

    def heap_bytes(self) -> int:
        """What lives on the driver's heap."""
        self._jvm.System.gc()
        runtime = self._jvm.Runtime.getRuntime()
        return int(runtime.totalMemory() - runtime.freeMemory())

    def _readings(self, size: int) -> DataFrame:
        return source(self._spark, self._settings, topics.READINGS, size)

    def _timed_batch(self, frame: DataFrame, messages: int) -> Took:
        with self._timed() as took:
            frames.to_nowhere(frame)
        return took(messages)

    def _batches(self, writer: DataStreamWriter, finish: Callable[[], None] = lambda: None) -> Took:
        """All that is there in micro-batches, and what is left to do then.

        The first batch, which generates and compiles the code, does not count by the clock.
        """
        with self._timed() as took:
            query = (
                writer.option("checkpointLocation", self._new_checkpoint()).trigger(availableNow=True).start()
            )
            query.awaitTermination()
            began = time.monotonic()
            finish()
            left_ms = (time.monotonic() - began) * 1000
        done = [each for each in query.recentProgress if each["numInputRows"]]
        counted = done[1:] or done
        messages = sum(each["numInputRows"] for each in counted)
        ms = sum(each["durationMs"]["triggerExecution"] for each in counted) + left_ms
        return Took(ms * 1000 / messages, took(sum(each["numInputRows"] for each in done)).cpu_us)

    @contextmanager
    def _timed(self) -> Iterator[Callable[[int], Took]]:
        """Gives what the block took for so many messages."""
        began, cpu = time.monotonic(), self._cpu_seconds()
        ended: list[float] = []
        yield lambda messages: Took(*(each / messages * 1e6 for each in ended))
        ended += [time.monotonic() - began, self._cpu_seconds() - cpu]

    def _cpu_seconds(self) -> float:
        """Of the JVM and of this process; of this process alone where the system does not tell."""
        stat = Path(f"/proc/{self._jvm.java.lang.ProcessHandle.current().pid()}/stat")
        if not stat.exists():
            return time.process_time()
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") + time.process_time()

    def _new_checkpoint(self) -> str:
        self._runs += 1
        folder = Path(self._settings.checkpoint_root) / f"bench-{self._runs}"
        shutil.rmtree(folder, ignore_errors=True)
        return str(folder)
