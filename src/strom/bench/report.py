"""What a benchmark found: each figure beside the limit it is held against, as a table, as JSON, as a picture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape


@dataclass(frozen=True)
class Measure:
    """`ratio` is to the limit; `at_least` or `at_most` is what is asked of it."""

    name: str
    ratio: float
    against: str
    detail: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool:
        return (self.at_least is None or self.ratio >= self.at_least) and (
            self.at_most is None or self.ratio <= self.at_most
        )

    @property
    def asked(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}" if self.at_most is not None else "–"


@dataclass
class Report:
    title: str
    conditions: str
    measures: list[Measure] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return all(measure.reached for measure in self.measures)

    def as_dict(self) -> dict[str, object]:
        return {
            "title": self.title,
            "conditions": self.conditions,
            "figures": self.figures,
            "measures": [asdict(measure) | {"reached": measure.reached} for measure in self.measures],
            "reached": self.reached,
        }


_WIDTH, _ROW, _LEFT, _BAR = 860, 46, 250, 480
_GOOD, _SHORT, _INK, _FAINT = "#2a7d4f", "#b3541e", "#1c2430", "#d8dee6"


def as_svg(report: Report) -> str:
    """Bars of the ratios with a mark at what is asked of each."""
    measures = report.measures
    scale = _BAR / (1.1 * max([1.0, *(max(m.ratio, m.at_least or m.at_most or 0) for m in measures)]))
    height = 96 + _ROW * len(measures)
    rows = "".join(_bar(measure, 72 + _ROW * index, scale) for index, measure in enumerate(measures))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="14" fill="{_INK}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="20" y="30" font-size="18" font-weight="600">{escape(report.title)}</text>'
        f'<text x="20" y="52" font-size="12" fill="#5b6675">{escape(report.conditions)}</text>{rows}'
        f'<text x="20" y="{height - 14}" font-size="12" fill="#5b6675">'
        "Bar: ratio to the limit measured in the same run. Mark: what is asked.</text></svg>\n"
    )


def _bar(measure: Measure, top: int, scale: float) -> str:
    asked = measure.at_least if measure.at_least is not None else measure.at_most
    width = max(2.0, measure.ratio * scale)
    mark = (
        ""
        if asked is None
        else f'<line x1="{_LEFT + asked * scale:.1f}" x2="{_LEFT + asked * scale:.1f}" y1="{top - 4}" y2="{top + 24}" '
        f'stroke="{_INK}" stroke-width="2"/>'
    )
    return (
        f'<text x="20" y="{top + 15}">{escape(measure.name)}</text>'
        f'<text x="20" y="{top + 31}" font-size="11" fill="#5b6675">{escape(measure.against)}</text>'
        f'<rect x="{_LEFT}" y="{top}" width="{_BAR}" height="20" fill="{_FAINT}" opacity="0.4"/>'
        f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="20" fill="{_GOOD if measure.reached else _SHORT}"/>'
        f"{mark}"
        f'<text x="{_LEFT + _BAR + 14}" y="{top + 15}" font-weight="600">{measure.ratio:.2f}</text>'
        f'<text x="{_LEFT + _BAR + 60}" y="{top + 15}" fill="#5b6675">{escape(measure.asked)}</text>'
    )


def best(values: Sequence[float]) -> float:
    """The machine disturbs in one direction only: the least of several runs is nearest to the truth."""
    return min(values)
