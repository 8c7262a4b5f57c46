"""What a demo came to: every reading counted at each stage, and how long it took."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Summary:
    published: int  # confirmed by the MQTT broker
    raw: int
    readings: int
    dead_letters: int
    quarter_hours: int
    alerts: int
    readings_p50_ms: int | None
    readings_p99_ms: int | None
    page_p50_ms: int | None
    page_p99_ms: int | None

    @property
    def nothing_lost(self) -> bool:
        return self.published == self.raw == self.readings + self.dead_letters

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"nothing_lost": self.nothing_lost}

    def lines(self) -> list[tuple[str, str]]:
        """For people: what, and how much."""
        return [
            ("published by the meters", f"{self.published:,}"),
            ("in the raw topic", f"{self.raw:,}"),
            ("in readings", f"{self.readings:,}"),
            ("dead letters", f"{self.dead_letters:,}"),
            ("quarter-hours", f"{self.quarter_hours:,}"),
            ("alerts", f"{self.alerts:,}"),
            ("publish to readings, p50 / p99", _pair(self.readings_p50_ms, self.readings_p99_ms)),
            ("publish to the page, p50 / p99", _pair(self.page_p50_ms, self.page_p99_ms)),
        ]


def _pair(middle: int | None, high: int | None) -> str:
    return "not measured" if middle is None else f"{middle:,} ms / {high:,} ms"
