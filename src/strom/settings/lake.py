"""How the lake is kept: for how long, and how often its files are put in order."""

from pydantic import Field

from strom.settings.section import Section

LATE_DAYS = 60  # how late a reading may be; what a lake keeps for less time counts less
LATE_MARGIN_DAYS = 2  # a reading is judged by those before it: the lake must reach back a little further


class LakeSettings(Section):
    keep_days: int | None = Field(
        None,
        ge=LATE_MARGIN_DAYS + 1,
        description="Days of readings the lake keeps, counted back from today; empty keeps all.",
    )
    versions_hours: int = Field(
        168,
        ge=1,
        description="How long a former version of the lake can be looked at; files that only older ones need are removed.",
    )
    upkeep_minutes: int = Field(
        10,
        ge=0,
        description="Minutes between two rounds of upkeep by the running pipeline; 0: only by `strom lake compact` and `vacuum`.",
    )
    file_mb: int = Field(
        32,
        ge=1,
        description="Size that files of past days are joined to; smaller ones let a look-up skip more.",
    )
