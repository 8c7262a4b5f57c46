"""Reads file, environment and flags, in this order; the later wins, and what is wrong is refused by its name."""

import difflib
import json
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from strom.errors import StromError
from strom.settings.checks import check
from strom.settings.described import setting_names
from strom.settings.model import ENV_PREFIX, Settings
from strom.settings.section import Section, shown

FILE_NAME = "strom.toml"
# Settings that are tables of entries with names of their own, as `[groups.NAME]`, and what an entry is.
_TABLES: dict[str, Any] = {
    name: get_args(field.annotation)[1]
    for name, field in Settings.model_fields.items()
    if get_origin(field.annotation) is dict
}


def load_settings(
    flags: dict[str, Any] | None = None,
    *,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read file, environment and flags (`{"kafka.bootstrap": …}`, None is 'not given'); refuse what is wrong by its name."""
    environ = dict(os.environ) if environment is None else environment
    tree: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for dotted, value, origin in [
        *_from_file((folder or Path.cwd()) / FILE_NAME),
        *_from_environment(environ),
        *((name, value, "flag") for name, value in (flags or {}).items() if value is not None),
    ]:
        _put(tree, dotted, value)
        origins[dotted] = origin
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise StromError(_sentence(error, origins)) from None
    check(settings)
    return settings


def users_come_from_file(settings: Settings, folder: Path | None = None) -> bool:
    """Whether the users of these settings are those of the file, so that they may change with it."""
    try:
        return settings.users == load_settings(environment={}, folder=folder).users
    except StromError:
        return False


def _from_file(path: Path) -> list[tuple[str, Any, str]]:
    if not path.exists():
        return []
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StromError(f"{path.name} is not valid TOML: {error}; correct that line.") from None
    found: list[tuple[str, Any, str]] = []
    for key, value in data.items():
        if isinstance(value, dict):
            found += [(f"{key}.{name}", item, path.name) for name, item in value.items()]
        else:
            found.append((key, value, path.name))
    return found


def _from_environment(environ: dict[str, str]) -> list[tuple[str, Any, str]]:
    by_variable = {f"{ENV_PREFIX}{name.replace('.', '_')}".upper(): name for name in setting_names()}
    found: list[tuple[str, Any, str]] = []
    for variable in sorted(name for name in environ if name.startswith(ENV_PREFIX)):
        if variable not in by_variable:
            raise StromError(f"{variable} is not a setting of Strom{_closest(variable, by_variable)}")
        if environ[variable] != "":
            name = by_variable[variable]
            value = environ[variable]
            found.append((name, _entries(value, variable) if name in _TABLES else value, variable))
    return found


def _entries(text: str, variable: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise StromError(
            f'{variable} is not JSON ({error}); write it as {{"NAME": …}} with what the entry holds.'
        ) from None


def _put(tree: dict[str, Any], dotted: str, value: Any) -> None:
    section, _, name = dotted.partition(".")
    if name:
        branch = tree.setdefault(section, {})
        if not isinstance(branch, dict):
            raise StromError(
                f"{section} is a section of settings; write [{section}] with its settings below."
            )
        branch[name] = value
    else:
        tree[section] = value


def _sentence(error: ValidationError, origins: dict[str, str]) -> str:
    first = error.errors()[0]
    dotted = ".".join(str(part) for part in first["loc"])
    origin = origins.get(dotted) or origins.get(str(first["loc"][0]), FILE_NAME)
    where = dotted if origin in (FILE_NAME, "flag") else origin
    prefix = f"{FILE_NAME}: " if origin == FILE_NAME else ""
    if first["loc"][0] in _TABLES and origin != FILE_NAME:
        prefix, where = f"{origin}: ", dotted
    if first["type"] == "extra_forbidden":
        return f"{prefix}{where} is not a setting of Strom{_closest(dotted, _names_like(first['loc']))}"
    if first["type"] == "missing":
        return f"{prefix}{where} is missing; it must be given: {_meaning(first['loc'])}"
    if first["type"] in ("model_type", "dict_type"):
        return f"{prefix}{where} is a section; write [{where}] and its settings below it."
    given = shown(str(first["loc"][-1]), first["input"])
    return f"{prefix}{where} is {given!r}: {first['msg'][0].lower()}{first['msg'][1:]}."


def _names_like(place: tuple[int | str, ...]) -> list[str]:
    """The names that could stand there: in an entry of a table those of its fields."""
    entry = _entry(place)
    if entry is None:
        return setting_names()
    return [f"{place[0]}.{place[1]}.{name}" for name in entry.model_fields]


def _meaning(place: tuple[int | str, ...]) -> str:
    entry = _entry(place)
    return (entry.model_fields[str(place[-1])].description or "") if entry is not None else ""


def _entry(place: tuple[int | str, ...]) -> type[Section] | None:
    """What stands at this place of a table, where its entries have fields."""
    entry = _TABLES.get(str(place[0])) if len(place) > 2 else None
    return entry if isinstance(entry, type) and issubclass(entry, Section) else None


def _closest(name: str, known: Iterable[str]) -> str:
    """How the sentence ends."""
    match = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {match[0]}?" if match else "; `strom settings` lists them."
