"""Readings of meters over days, typed as the lake has them: a history to fill a lake with, and micro-batches, of which some come late."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strom.domain.reading import NUMBER_FIELDS
from strom.pipeline.judge import NUMBER
from strom.pipeline.lake.archive import Archive, lake_rows
from strom.pipeline.readings import parts_of_origin

DAY_S = 86_400
_DELAY_MS = 300  # from a reading's time to its arrival
_FIRST_LATE_S = 3_600
_STEPS = {"import_wh": 4, "export_wh": 1}  # the most that a counter grows from push to push
_RANGES = {  # smallest value, number of values, and what they are divided by
    "import_w": (0, 6_000, 1),
    "export_w": (0, 6_000, 1),
    "voltage_l1_v": (2_260, 80, 10),
    "voltage_l2_v": (2_255, 80, 10),
    "voltage_l3_v": (2_265, 80, 10),
    "current_l1_a": (87, 50, 100),
}


@dataclass(frozen=True)
class History:
    """So many meters that send every `interval_s` from `start_s` on; push 0 is the first."""

    spark: SparkSession
    meters: int
    interval_s: int
    start_s: int

    @property
    def pushes_a_day(self) -> int:
        return DAY_S // self.interval_s

    def append_days(self, archive: Archive, first: int, days: int, *, every_s: int | None = None) -> None:
        """Put whole days into the lake, in files of neighbouring meters as its upkeep leaves them; `every_s`: some of the pushes."""
        step = (every_s or self.interval_s) // self.interval_s
        sent = self.pushes_a_day // step
        count = days * self.meters * sent
        rows = self.spark.range(0, count, 1, max(2, days))  # a day in a file, or in two
        day, rest = F.floor(F.col("id") / (self.meters * sent)), F.col("id") % (self.meters * sent)
        push = (day + first) * self.pushes_a_day + rest % sent * step
        archive.ensure()
        found = self._readings(rows, F.floor(rest / sent), push, F.lit(0))
        lake_rows(found).write.format("delta").mode("append").save(archive.path)

    def batch(
        self, number: int, pushes: int, first: int, *, late_every: int = 0, most_late_s: int = 0
    ) -> DataFrame:
        """A micro-batch of so many pushes of all meters. One in `late_every` is older: by an hour to `most_late_s`, between two pushes."""
        count = self.meters * pushes
        rows = self.spark.range(0, count, 1, self.spark.sparkContext.defaultParallelism)
        meter, push = F.col("id") % self.meters, F.floor(F.col("id") / self.meters) + first + number * pushes
        late_s: Column = F.lit(0)
        if late_every:
            place = F.xxhash64(F.lit("late"), meter, push)
            lag = _FIRST_LATE_S + F.pmod(F.shiftright(place, 8), F.lit(most_late_s - _FIRST_LATE_S))
            late_s = F.when(F.pmod(place, F.lit(late_every)) == 0, lag - lag % self.interval_s).otherwise(0)
        return (
            self._readings(rows, meter, push, late_s, first_offset=number * count)
            .withColumns(parts_of_origin())
            .withColumns({"partition": F.lit(0), "offset": F.col("raw_offset"), "value": F.lit("")})
        )

    def _readings(
        self, rows: DataFrame, meter: Column, push: Column, late_s: Column, *, first_offset: int = 0
    ) -> DataFrame:
        told = push - F.floor(late_s / self.interval_s)
        arrived_ms = (F.lit(self.start_s) + push * self.interval_s) * 1_000 + _DELAY_MS
        # What is late lies between two pushes, and its counters stand as at the first of them.
        at_ms = (F.lit(self.start_s) + told * self.interval_s) * 1_000 + F.when(
            late_s > 0, self.interval_s * 500
        ).otherwise(0)
        numbers = {name: self._counter(name, step, meter, told) for name, step in _STEPS.items()}
        numbers |= {
            name: (F.pmod(F.xxhash64(F.lit(name), meter, push), F.lit(count)) + least) / by
            for name, (least, count, by) in _RANGES.items()
        }
        return rows.select(
            F.format_string("meter-%06d", meter).alias("meter"),
            F.timestamp_millis(at_ms).alias("at"),
            F.timestamp_millis(arrived_ms).alias("received"),
            F.lit("mqtt").alias("source"),
            F.lit("meter").alias("clock"),
            *(
                (numbers[name] if name in numbers else F.lit(None)).cast(NUMBER).alias(name)
                for name in NUMBER_FIELDS
            ),
            F.format_string("1KFM02%08d", meter).alias("meter_number"),
            F.lit(None).cast("string").alias("other"),
            F.array().cast("array<string>").alias("flags"),
            F.concat(F.lit("sma-kafka/0/"), (F.col("id") + first_offset).cast("string")).alias("origin"),
        )

    def _counter(self, name: str, step: int, meter: Column, push: Column) -> Column:
        return meter * 1_000 + push * step + F.pmod(F.xxhash64(F.lit(name), meter, push), F.lit(step + 1))
