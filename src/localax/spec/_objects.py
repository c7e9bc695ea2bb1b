"""Objects from plain data: a shelf of classes, the name of one, and its settings."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import SettingError, refuse_unknown, setting_error, unknown
from ._setting import settings_of

Shelf = Iterable[type]


def chosen(shelf: Shelf, what: str, name: Any) -> type:
    """The class of a ``shelf`` that a ``name`` means: the whole name or a part of it, in any case.

    ``what`` is what errors call such an object, e.g. "stimulus".
    """
    members = tuple(shelf)
    low = str(name).lower()
    exact = [cls for cls in members if cls.__name__.lower() == low]
    found = exact or [cls for cls in members if low and low in cls.__name__.lower()]
    if len(found) > 1:
        raise setting_error("settings", what, name, f"one of {', '.join(cls.__name__ for cls in found)}")
    if not found:
        raise unknown(what, name, [cls.__name__ for cls in members])
    return found[0]


def built(shelf: Shelf, what: str, settings: str | Mapping[str, Any]) -> Any:
    """An object from its kind and settings.

    ``settings`` has the class's name under "kind" and its settings beside it, nested objects alike; a name alone stands
    for an object with nothing but defaults. The class is looked for on ``shelf``; errors call the object ``what``.
    """
    given = {"kind": settings} if isinstance(settings, str) else dict(settings)
    cls = chosen(shelf, what, given.pop("kind", ""))
    known = settings_of(cls)
    for name in given:
        refuse_unknown(f"setting of {what} {cls.__name__}", name, known)
    _refuse_missing(cls, what, given)
    return cls(**{name: _value(name, value, known[name]) for name, value in given.items()})


def _value(name: str, value: Any, setting: Any) -> Any:
    if setting.options is not None and isinstance(value, str | Mapping):
        return built(setting.options(), name, value)
    return tuple(value) if isinstance(value, list) and setting.kind in ("size", tuple) else value


def _refuse_missing(cls: type, what: str, given: Mapping[str, Any]) -> None:
    """Say which settings a class still needs, and which of its arguments no file can hold."""
    known, parameters = settings_of(cls), inspect.signature(cls).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    arrays = [name for name in needed if name not in known]
    if arrays:
        raise SettingError(
            f"settings: {what} {cls.__name__} needs {', '.join(arrays)}, which no settings file or flag can hold; "
            "build it in Python"
        )
    if needed:
        raise SettingError(f"settings: {what} {cls.__name__} also needs {', '.join(needed)}")


def listing(cls: type) -> dict[str, Any]:
    """The class ``cls`` as data: name, one line of meaning, and its settings with their ranges."""
    parameters = inspect.signature(cls).parameters
    rows = []
    for name, setting in settings_of(cls).items():
        row = {"name": name, "meaning": setting.meaning, "range": setting.range}
        if parameters[name].default is not inspect.Parameter.empty:
            row["default"] = parameters[name].default
        rows.append(row)
    return {"name": cls.__name__, "meaning": (cls.__doc__ or "").strip().splitlines()[0], "settings": rows}
