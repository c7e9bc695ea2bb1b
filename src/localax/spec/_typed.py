"""Settings as people type them: a file in TOML, ``--name value`` and ``name=value``."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._disk import read_text
from .._errors import SettingError, short

DEEP = 64
"""Tables inside of tables at most: a few are of use."""


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a settings ``file`` in TOML."""
    text = read_text(file)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of 5,000 digits, and lists in lists in lists
        raise SettingError(f"{file} is no TOML: {error}") from error
    level: list[Any] = [tables]
    for _ in range(DEEP):
        level = [item for part in level for item in (part.values() if isinstance(part, dict) else part)]
        level = [item for item in level if isinstance(item, dict | list)]
    if level:
        raise SettingError(f"{file} has tables inside of tables more than {DEEP} deep")
    return tables


def flag_pairs(words: Sequence[str]) -> list[tuple[str, Any]]:
    """Names and values of ``words`` such as ``--name value`` and ``--name=value``, hyphens as underscores."""
    pairs, rest = [], list(words)
    while rest:
        name, equals, text = rest.pop(0).partition("=")
        if not name.startswith("--") or not (equals or rest):
            raise SettingError(f"expected --name value, got {short(name)}")
        pairs.append((name[2:].replace("-", "_"), typed_value(text if equals else rest.pop(0))))
    return pairs


def set_pairs(words: Sequence[str]) -> list[tuple[tuple[str, ...], Any]]:
    """Paths and values of ``words`` such as ``a.b=value``, which gives ``("a", "b")`` and the value."""
    pairs = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SettingError(f"--set takes name=value, e.g. --set init.scale=0.1, got {short(word)}")
        pairs.append((tuple(name.split(".")), typed_value(text)))
    return pairs


def typed_value(text: str) -> Any:
    """What a typed ``text`` means: a number, a truth value, a list where it has commas, else the text itself."""
    if "," in text:
        return [typed_value(part) for part in text.split(",") if part]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def put(settings: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set ``value`` inside the nested tables ``settings``, in place, at ``path``, the names that lead to it.

    Missing tables are made; a name that stands for an object becomes its table.
    """
    if len(path) > DEEP:
        raise SettingError(f"{short('.'.join(path))} leads through more than {DEEP} tables")
    place: Any = settings
    for part in path[:-1]:
        inner = place.setdefault(part, {})
        if isinstance(inner, str):
            inner = place[part] = {"kind": inner}
        if not isinstance(inner, dict):
            raise SettingError(f"{'.'.join(path)} goes through {part}, which has a single value")
        place = inner
    place[path[-1]] = value
