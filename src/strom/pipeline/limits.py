"""The rules of each meter as the stages use them: in the units that the domain counts in, and as a Spark column."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strom.domain.segments import Rules
from strom.domain.silences import QuietLimits
from strom.settings import MeterRules, RuleSettings, Settings


def rules_of(settings: RuleSettings) -> Rules:
    """The limits in the units of the rules."""
    return Rules(
        limit_w=settings.limit_w,
        noise_mwh=round(settings.noise_wh * 1000),
        exact_ms=settings.exact_seconds * 1000,
        linear_ms=settings.linear_seconds * 1000,
    )


def quiet_limits(settings: RuleSettings) -> QuietLimits:
    return QuietLimits(settings.silent_pushes, settings.silent_seconds, settings.silent_unknown_seconds)


class Limits:
    """Looks up the rules of a meter; where no group differs in a limit, nothing is looked up for it in Spark."""

    def __init__(self, settings: Settings) -> None:
        self.of_meter = MeterRules(settings)
        self.timezone = settings.page.timezone
        self._energy = {id(rules): rules_of(rules) for rules in self.of_meter.variants}
        self._quiet = {id(rules): quiet_limits(rules) for rules in self.of_meter.variants}
        self._common = self._energy[id(self.of_meter.common)]
        self._differ = any(rules.limit_w != self._common.limit_w for rules in self.of_meter.variants)

    def settings(self, meter: str) -> RuleSettings:
        return self.of_meter.of(meter)

    def energy(self, meter: str) -> Rules:
        """What the quarter-hours need."""
        return self._energy[id(self.of_meter.of(meter))]

    def quiet(self, meter: str) -> QuietLimits:
        """What tells whether it is silent."""
        return self._quiet[id(self.of_meter.of(meter))]

    @property
    def limit_sql(self) -> str:
        """What a connection can carry, for a frame that went through `beside`."""
        return "limit_w" if self._differ else str(self._common.limit_w)

    def beside(self, frame: DataFrame) -> DataFrame:
        """Each row beside the limit of its meter, where groups differ in it."""
        if not self._differ:
            return frame
        limit = F.lit(self._common.limit_w)
        for regex, rules in reversed(self.of_meter.groups):
            limit = F.when(F.col("meter").rlike(f"\\A{regex}\\z"), rules.limit_w).otherwise(limit)
        return frame.withColumn("limit_w", limit)
