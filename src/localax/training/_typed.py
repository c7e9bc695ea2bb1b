"""Settings of a run as people type them: a file in TOML, flags, and name=value."""

import tomllib
from pathlib import Path
from typing import Any

from .._settings import settings_of
from ._spec import SHELVES, Spec, member

STANDARD = {
    "size": 40,
    "lengthscale": [1, 3],
    "coupling": [0.3, 0.7],
    "gain": 3,
    "k": 10,
    "shortest": [3, 9],
    "longest": [4, 10],
    "length": [2, 6],
    "radial": {"kind": "Shell"},
}
"""What a stimulus gets where nothing is said: the paper's lengthscale task."""


def typed_settings(file: Path | None, kinds: dict[str, str], flags: list[str], pairs: list[str]) -> dict[str, Any]:
    """Settings of a file in TOML, overridden by kinds, flags and --set pairs, in this order."""
    settings: dict[str, Any] = {}
    if file is not None:
        try:
            settings = tomllib.loads(file.read_text())
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{file} is no TOML: {error}") from error
    for part in SHELVES:
        if part in kinds:  # another kind starts from its own settings
            settings[part] = {"kind": kinds[part]}
        elif not settings.get(part):
            settings[part] = dict(Spec.model_fields[part].default)
    for name, text in _flag_pairs(flags):
        _put(settings, _owner(settings, name), text)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"--set takes name=value, e.g. --set init.scale=0.1, got {pair!r}")
        _put(settings, tuple(name.split(".")), text)
    settings["stimulus"] = _with_defaults(settings["stimulus"])
    return settings


def _flag_pairs(flags: list[str]) -> list[tuple[str, str]]:
    """--name value and --name=value."""
    pairs, rest = [], list(flags)
    while rest:
        name, equals, text = rest.pop(0).partition("=")
        if not name.startswith("--") or not (equals or rest):
            raise ValueError(f"expected --name value, got {name!r}")
        pairs.append((name[2:].replace("-", "_"), text if equals else rest.pop(0)))
    return pairs


def _owner(settings: dict[str, Any], name: str) -> tuple[str, ...]:
    """Where a flag belongs: the run, or its stimulus, network or initialiser."""
    if name in Spec.model_fields and name not in SHELVES:
        return (name,)
    known = []
    for part, shelf in SHELVES.items():
        names = settings_of(member(shelf, part, settings[part].get("kind", "")))
        if name in names:
            return part, name
        known += names
    run = [field for field in Spec.model_fields if field not in SHELVES]
    raise ValueError(f"no setting --{name}; this run has {', '.join([*dict.fromkeys(known), *run])}")


def _put(settings: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    place = settings
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise ValueError(f"--set: {'.'.join(path)} goes through {part}, which has a single value")
    place[path[-1]] = _value(text)


def _value(text: str) -> Any:
    """A number, a truth value, a comma-separated list, or text."""
    if "," in text:
        return [_value(part) for part in text.split(",")]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _with_defaults(stimulus: dict[str, Any]) -> dict[str, Any]:
    names = settings_of(member(SHELVES["stimulus"], "stimulus", stimulus.get("kind", "")))
    return {**{name: STANDARD[name] for name in names if name in STANDARD}, **stimulus}
