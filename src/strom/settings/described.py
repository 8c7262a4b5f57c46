"""The settings as people look them up: name, value, meaning."""

from pathlib import Path
from typing import Any, NamedTuple

from strom.settings.model import Settings
from strom.settings.section import HIDDEN, Section, shown

_SECRET = ("password", "secret", "token", "key")  # in the names of Spark's own options


class Described(NamedTuple):
    """One setting, as people look it up."""

    name: str  # section.name
    value: Any
    meaning: str


def described(settings: Settings) -> list[Described]:
    """Every setting with its value and what it is for, in the order of their declaration. Secrets stay hidden."""
    found: list[Described] = []
    for key, field in Settings.model_fields.items():
        value = getattr(settings, key)
        if isinstance(value, Section):
            found += [
                Described(f"{key}.{name}", _shown(name, getattr(value, name)), sub.description or "")
                for name, sub in type(value).model_fields.items()
            ]
        else:
            found.append(Described(key, _shown(key, value), field.description or ""))
    return found


def setting_names() -> list[str]:
    return [each.name for each in described(Settings())]


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {key: _shown_item(key, item) for key, item in value.items()}
    return shown(name, value)


def _shown_item(key: str, item: Any) -> Any:
    if isinstance(item, Section):
        return {name: shown(name, value) for name, value in item.model_dump(exclude_unset=True).items()}
    return HIDDEN if any(word in key for word in _SECRET) else item
