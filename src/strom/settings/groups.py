"""What holds for a meter by the patterns that name it: its rules, and its area. The first that matches counts."""

import re
from functools import lru_cache

from strom.settings.model import Settings
from strom.settings.rules import RuleSettings

_REMEMBERED = 100_000


def pattern_regex(pattern: str) -> str:
    """A name with * and ? as a regular expression of the whole name, in the words that Python's and Java's share."""
    return "".join({"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in pattern)


def _any_of(patterns: list[str]) -> str:
    return f"(?s)(?:{'|'.join(map(pattern_regex, patterns))})"


class MeterRules:
    """Asked for every meter of every batch: without groups there is nothing to look up."""

    def __init__(self, settings: Settings) -> None:
        self.common = settings.rules
        self.groups = [
            (_any_of(group.meters), group.over(settings.rules)) for group in settings.groups.values()
        ]
        self._compiled = [(re.compile(regex), rules) for regex, rules in self.groups]
        self._known: dict[str, RuleSettings] = {}

    def of(self, meter: str) -> RuleSettings:
        if not self._compiled:
            return self.common
        found = self._known.get(meter)
        if found is None:
            matching = (rules for regex, rules in self._compiled if regex.fullmatch(meter))
            found = self._known[meter] = next(matching, self.common)
        return found

    @property
    def variants(self) -> list[RuleSettings]:
        """All rules that hold for any meter."""
        return [self.common, *(rules for _, rules in self.groups)]


class MeterAreas:
    """Asked for every record: what was found is remembered, for as many meters as there may well be."""

    def __init__(self, settings: Settings) -> None:
        self._compiled = [(re.compile(_any_of(area.meters)), name) for name, area in settings.areas.items()]
        self.of = lru_cache(maxsize=_REMEMBERED)(self._find)

    def _find(self, meter: str) -> str | None:
        return next((name for regex, name in self._compiled if regex.fullmatch(meter)), None)
