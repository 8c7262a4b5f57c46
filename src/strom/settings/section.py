"""What every section of the settings has in common: frozen, and no unknown name is taken."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
