"""How records are sent and read where they are out of the ordinary: too large for one, or kept together by area."""

from pydantic import Field

from strom.settings.section import Section


class PartsSettings(Section):
    over_bytes: int = Field(
        900_000,
        ge=1,
        le=1_900_000,
        description="A larger value is sent in parts of at most this size; it must fit what the broker takes (`message.max.bytes`, 1 MB by default) together with key and headers.",
    )
    memory_mb: int = Field(
        64,
        ge=1,
        description="Parts held at most while messages are put together: beyond it the oldest is given up. No larger value is sent.",
    )
    unfinished: int = Field(
        1000,
        ge=1,
        description="Messages held at most that lack parts: beyond it the oldest is given up.",
    )
    wait_seconds: float = Field(
        600.0, gt=0, description="A message that lacks parts is given up when none has come for so long."
    )

    @property
    def memory_bytes(self) -> int:
        return self.memory_mb * 1024 * 1024


class AreaSettings(Section):
    """Meters whose records share a partition."""

    meters: list[str] = Field(min_length=1, description="Names of meters; * and ? stand for any characters.")
