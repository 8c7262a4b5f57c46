"""Takes down what a benchmark finds, and tells it as it goes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strom.bench.report import Measure, Report, best

if TYPE_CHECKING:
    from strom.pipeline.bench.lab import Took


class Notes:
    def __init__(self, report: Report, say: Callable[[str], None]) -> None:
        self._report = report
        self.say = say
        self.figures = report.figures

    def add(self, measure: Measure) -> None:
        self._report.measures.append(measure)
        self.say(f"▸ {measure.name}: {measure.ratio:.2f} {measure.against} ({measure.detail})")

    def took(self, name: str, took: "Took") -> None:
        self.figures[f"{name}, messages/s"] = round(took.rate)
        self.figures[f"{name}, µs of processor a message"] = round(took.cpu_us, 1)
        self.say(f"▸ {name}: {rate(took)}, {took.cpu_us:.1f} µs of the processors a message")


def rate(took: "Took") -> str:
    return f"{took.rate:,.0f}/s"


def least(found: Sequence["Took"]) -> "Took":
    from strom.pipeline.bench.lab import Took  # only who measures Spark needs it

    return Took(best([each.us for each in found]), best([each.cpu_us for each in found]))
