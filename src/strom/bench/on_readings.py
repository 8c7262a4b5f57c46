"""What is made of the topic `readings`: all stages with lake and Postgres, their memory, look-ups in the lake, `profile` alone."""

from strom.bench.notes import Notes, least, rate
from strom.bench.plan import Plan
from strom.bench.report import Measure
from strom.pipeline.bench.lab import Lab, Took
from strom.settings import Settings
from strom.store.schema import empty_tables

MB = 1 << 20
_LEAST_BATCHES = 2  # the first of them is not counted
_LEAST_HEAPS = 4  # the heap is looked at after each batch: two halves of several
_LOOKED_UP = 20  # meters


class OnReadings:
    def __init__(self, lab: Lab, settings: Settings, plan: Plan, notes: Notes) -> None:
        self._lab = lab
        self._settings = settings
        self._plan = plan
        self._notes = notes
        self._heap: list[int] = []

    def measure(self, limit: Took | None) -> None:
        """`limit`: what a bare parse took; without it all stages together have nothing to be held against."""
        self._notes.say("normalise, Kafka to Kafka")
        first = self._lab.normalise_all()
        self._notes.took("normalise to Kafka", first)
        if self._plan.wants("all", "memory", "lake"):
            self._notes.say("archive, profile, latest and watch")
            second = self._lab.store_all(
                self._batch(_LEAST_HEAPS), profile_alone=False, on_batch=self._after_batch
            )
            self._notes.took("stages on readings", second)
            if self._plan.wants("all") and limit is not None:
                self._all(first + second, limit)
        if self._plan.wants("memory"):
            self._memory()
        if self._plan.wants("lake"):
            self._lake()
        if self._plan.wants("profile"):
            self._profile()

    def _all(self, together: Took, limit: Took) -> None:
        self._notes.add(
            Measure(
                "all stages, lake, Postgres",
                limit.us / together.us,
                "of from_json to nowhere",
                f"{rate(together)} of {rate(limit)}",
                at_least=0.35,
            )
        )

    def _memory(self) -> None:
        early, late = (each / MB for each in _halves(self._heap))
        self._notes.figures |= {"heap, first half MB": early, "heap, second half MB": late}
        self._notes.add(
            Measure(
                "memory, second half",
                late / early,
                "of the heap in the first half",
                f"{late:.0f} MB after {early:.0f} MB",
                at_most=1.3,
            )
        )

    def _lake(self) -> None:
        """One meter looked up in the lake as the batches left it, and once its files are in order."""
        self._notes.say("look-ups in the lake, before and after it is put in order")
        step = max(1, self._plan.meters // _LOOKED_UP)
        meters = [f"meter-{number:06d}" for number in range(step // 2, self._plan.meters, step)]
        look_ups = self._lab.look_ups()
        before = look_ups.cost(meters)
        look_ups.compact()
        after = look_ups.cost(meters)
        self._notes.add(
            Measure(
                "a meter's day from the lake",
                after.ms / before.ms,
                "of the time before `lake compact`",
                f"{after.ms:,.0f} ms of {before.ms:,.0f} ms; {after.opened:.1f} of {after.files} files are opened instead "
                f"of {before.opened:.1f} of {before.files}; {after.megabytes:.0f} MB in all instead of {before.megabytes:.0f}",
                at_most=1.0,
            )
        )

    def _profile(self) -> None:
        bare, once, stage = [], [], []
        batch = self._batch(_LEAST_BATCHES)
        for turn in range(self._plan.rounds):
            self._notes.say(f"bare windows and profile, run {turn + 1} of {self._plan.rounds}")
            bare.append(self._lab.windows_all(batch))
            once.append(self._lab.windows_all(batch, parsed_once=True))
            empty_tables(self._settings.postgres_url)
            stage.append(self._lab.store_all(batch, profile_alone=True, on_batch=lambda _: None))
        limit, tuned, took = least(bare), least(once), least(stage)
        self._notes.took("bare windows", limit)
        self._notes.took("bare windows, parsed once", tuned)
        self._notes.took("profile", took)
        self._notes.add(
            Measure(
                "profile",
                limit.us / took.us,
                "of windowed max − min",
                f"{rate(took)} of {rate(limit)}; {tuned.us / took.us:.2f} of the same tuned to parse once",
                at_least=0.7,
            )
        )

    def _batch(self, least_batches: int) -> int:
        """Messages in a micro-batch: as many as in the running pipeline, or so few that there are enough batches."""
        return min(self._settings.pipeline.max_batch, self._plan.messages // least_batches)

    def _after_batch(self, number: int) -> None:
        self._heap.append(self._lab.heap_bytes())
        self._notes.say(f"batch {number + 1}, {self._heap[-1] / MB:.0f} MB on the heap")


def _halves(heap: list[int]) -> tuple[int, int]:
    """The largest of each half; the first batch still fills caches."""
    settled = heap[1:] or heap
    middle = max(1, len(settled) // 2)
    return max(settled[:middle]), max(settled[middle:] or settled)
