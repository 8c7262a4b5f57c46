"""What a replay is asked to do, and how its work is cut into pieces; knows no Spark and no table."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from strom.domain.reading import time_text
from strom.errors import StromError
from strom.settings import SCHEMA_PATTERN, Settings

HOUR_MS = 3_600_000
PIECE_READINGS = 500_000  # taken in at once: enough to be fast; the progress is stored after each piece
LAKE, TOPIC = "lake", "topic"


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are epoch ms, `since` inclusive and `until` exclusive; `meters` are names or patterns, none means all.

    `anew`: what an earlier replay has put into the schema is dropped first.
    """

    since: int | None = None
    until: int | None = None
    meters: tuple[str, ...] = ()
    into: str | None = None
    source: str = LAKE
    anew: bool = False

    def __post_init__(self) -> None:
        if self.source not in (LAKE, TOPIC):
            raise StromError(f"--source {self.source} is unknown: readings are in the lake or in the topic.")
        if self.into is not None and not re.fullmatch(SCHEMA_PATTERN, self.into):
            raise StromError(
                f"--into {self.into!r} is no name for a schema; use small letters, digits and _, such as quieter."
            )
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise StromError(
                f"--to ({time_text(self.until)}) is not after --from ({time_text(self.since)}); exchange them."
            )
        if self.source == TOPIC and self.into is None:
            raise StromError(
                "a replay in place reads the lake, where the live pipeline looks up late readings, too; "
                "leave out --source topic, or name a new schema with --into."
            )
        if self.anew and self.into is None:
            raise StromError(
                "--anew drops the tables that a replay has built with --into; a replay in place drops nothing: "
                "leave it out, or name the schema with --into."
            )

    @property
    def whole(self) -> bool:
        return self.since is None and self.until is None and not self.meters

    def wants(self, meter: str) -> bool:
        return not self.meters or any(fnmatchcase(meter, pattern) for pattern in self.meters)

    def key(self, settings: Settings) -> str:
        """The same work under the same rules has the same key: only then can one replay go on with another's."""
        told = {
            "from": self.since,
            "to": self.until,
            "meters": sorted(self.meters),
            "source": self.source,
            "rules": settings.rules.model_dump(mode="json"),
            "groups": {name: group.model_dump(mode="json") for name, group in settings.groups.items()},
            "late_ms": settings.late_ms,
        }
        return json.dumps(told, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Piece:
    """Readings from `since` up to `until`."""

    since: int
    until: int
    readings: int


def by_time(hours: Mapping[int, int], most: int = PIECE_READINGS) -> list[Piece]:
    """Neighbouring hours (start in ms → readings) until a piece has enough; an hour is never cut."""
    pieces: list[Piece] = []
    for hour, count in sorted(hours.items()):
        last = pieces[-1] if pieces else None
        if last is not None and last.readings + count <= most:
            pieces[-1] = Piece(last.since, hour + HOUR_MS, last.readings + count)
        else:
            pieces.append(Piece(hour, hour + HOUR_MS, count))
    return pieces


def by_meter(meters: Mapping[str, int], most: int = PIECE_READINGS) -> Iterator[tuple[Sequence[str], int]]:
    """Meters in order of their names, in groups with enough readings; each with its number."""
    group: list[str] = []
    total = 0
    for meter, count in sorted(meters.items()):
        if group and total + count > most:
            yield group, total
            group, total = [], 0
        group.append(meter)
        total += count
    if group:
        yield group, total


def by_version(versions: Mapping[int, int], most: int = PIECE_READINGS) -> list[tuple[int, int]]:
    """Neighbouring versions of the lake, joined until they have enough; each as its last version and its readings."""
    pieces: list[tuple[int, int]] = []
    for version, count in sorted(versions.items()):
        if pieces and pieces[-1][1] + count <= most:
            pieces[-1] = (version, pieces[-1][1] + count)
        else:
            pieces.append((version, count))
    return pieces


def unknown(patterns: Iterable[str], meters: Iterable[str]) -> list[str]:
    """Names and patterns that fit no meter."""
    known = list(meters)
    return [each for each in patterns if not any(fnmatchcase(meter, each) for meter in known)]
