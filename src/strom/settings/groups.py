"""Which rules hold for a meter: those of all, with what the first group that names it sets differently."""

import re

from strom.settings.model import Settings
from strom.settings.rules import RuleSettings


def pattern_regex(pattern: str) -> str:
    """A name with * and ? as a regular expression of the whole name, in the words that Python's and Java's share."""
    return "".join({"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in pattern)


class MeterRules:
    """Asked for every meter of every batch: without groups there is nothing to look up."""

    def __init__(self, settings: Settings) -> None:
        self.common = settings.rules
        self.groups = [
            (
                f"(?s)(?:{'|'.join(map(pattern_regex, group.meters))})",
                group.over(settings.rules),
            )
            for group in settings.groups.values()
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
