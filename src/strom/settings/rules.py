"""The limits of the rules: of all meters, and of groups of meters that differ from them."""

from pydantic import Field

from strom.settings.section import Section


class RuleSettings(Section):
    limit_w: int = Field(43_470, gt=0, description="What a connection can carry (3 × 63 A × 230 V).")
    noise_wh: float = Field(10, ge=0, description="A counter falling by at most this is noise, not a reset.")
    exact_seconds: int = Field(
        60, ge=1, description="Neighbouring readings at most this far apart make a slot border exact."
    )
    linear_seconds: int = Field(
        7200, ge=1, description="Neighbouring readings less than this far apart are joined by a line."
    )
    silent_pushes: int = Field(
        3, ge=1, description="Push intervals without a message after which a meter is silent."
    )
    silent_seconds: int = Field(
        90, ge=1, description="The least time without a message after which a meter is silent."
    )
    silent_unknown_seconds: int = Field(
        10_800,
        ge=1,
        description="Time without a message after which a meter is silent whose push interval is not known yet.",
    )
    voltage_low_v: float = Field(207, description="Ten-minute means below this raise a voltage alert.")
    voltage_high_v: float = Field(253, description="Ten-minute means above this raise a voltage alert.")
    voltage_severe_low_v: float = Field(195.5, description="Ten-minute means below this are severe.")
    voltage_severe_high_v: float = Field(253, description="Ten-minute means above this are severe.")
    phase_loss_v: float = Field(50, ge=0, description="A phase below this, beside a good one, is lost.")
    phase_loss_seconds: int = Field(
        10, ge=0, description="A phase that is lost for longer than this raises an alert."
    )
    agreed_w: int | None = Field(
        None, gt=0, description="Power agreed for the connection; empty is `rules.limit_w`."
    )
    overload_seconds: int = Field(
        60, ge=0, description="Power over the agreed one for longer than this raises an alert."
    )
    clock_seconds: int = Field(300, ge=1, description="A meter's clock may be off by this much.")
    spike_mads: float = Field(
        8,
        gt=0,
        description="A spike is this many deviations (MAD × 1.4826) over the usual power of its hour.",
    )
    spike_floor_w: int = Field(2000, ge=0, description="A spike is at least this much over the usual power.")
    spike_back_weeks: int = Field(
        8, ge=1, le=52, description="The usual power of an hour of the week is that of so many weeks before."
    )
    spike_warmup_weeks: int = Field(
        3, ge=1, description="Weeks of those before in which the hour must be known for it to be judged."
    )
    night_from_hour: int = Field(
        1, ge=0, le=24, description="Local hour from which on the least power of a night is looked for."
    )
    night_to_hour: int = Field(
        5, ge=0, le=24, description="Local hour of the same day at which the night ends."
    )
    night_mads: float = Field(
        6, gt=0, description="The least power of a night may be this many deviations over the usual one."
    )
    night_floor_w: int = Field(
        300, ge=0, description="The least power of a night may always be this much over the usual one."
    )
    night_back_nights: int = Field(
        14, ge=1, le=366, description="The usual least power is that of so many nights before."
    )
    night_warmup_nights: int = Field(
        7, ge=1, description="Nights of those before that must be known for one to be judged."
    )
    export_from_hour: int = Field(
        10, ge=0, le=24, description="Local hour from which on a solar plant should export."
    )
    export_to_hour: int = Field(
        16, ge=0, le=24, description="Local hour of the same day up to which it should export."
    )
    export_least_wh: int = Field(50, ge=0, description="Export in those hours up to this counts as none.")
    export_days: int = Field(
        12,
        ge=1,
        description="Days with export, of `rules.export_of_days` before it failed, for its lack to be told.",
    )
    export_of_days: int = Field(
        14, ge=1, description="Days before the export failed among which `rules.export_days` are counted."
    )
    export_back_days: int = Field(
        60, ge=1, le=366, description="Days before that are searched for those on which the plant still ran."
    )

    @property
    def most_w(self) -> int:
        """The agreed power."""
        return self.agreed_w or self.limit_w


# Of these each must be at least as large as the one before it, or larger.
NOT_FALLING = (
    ("voltage_severe_low_v", "voltage_low_v", "voltage_high_v", "voltage_severe_high_v"),
    ("spike_warmup_weeks", "spike_back_weeks"),
    ("night_warmup_nights", "night_back_nights"),
    ("export_days", "export_of_days", "export_back_days"),
)
RISING = (("night_from_hour", "night_to_hour"), ("export_from_hour", "export_to_hour"))


class GroupSettings(RuleSettings):
    """Some meters, and the rules that differ for them: those that were set here and no others."""

    meters: list[str] = Field(min_length=1, description="Names of meters; * and ? stand for any characters.")

    @property
    def overrides(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.model_fields_set if name != "meters"}

    def over(self, common: RuleSettings) -> RuleSettings:
        """The rules of these meters."""
        return common.model_copy(update=self.overrides)
