"""What a user can mend is a `SettingError` with one line; any other exception is a mistake of this package."""

import difflib
from collections.abc import Iterable
from typing import Any


class SettingError(ValueError):
    """A setting, an array or a file that cannot be used: what it is, what was given and what would be right."""


def setting_error(owner: type | str, name: str, value: Any, expected: str) -> SettingError:
    """The one form that every complaint about a setting takes."""
    who = owner if isinstance(owner, str) else owner.__name__
    return SettingError(f"{who}: {name} must be {expected}, got {_short(value)}")


def unknown(what: str, name: str, known: Iterable[str]) -> SettingError:
    """A name that is none of those known: the nearest ones, or all where none is near."""
    names = [str(one) for one in known]
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6) or _same_but_case(str(name), names)
    advice = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(names)}"
    return SettingError(f"no {what} called {str(name)[:60]!r}; {advice}")


def _same_but_case(name: str, names: list[str]) -> list[str]:
    low = {one.lower(): one for one in names}
    return [low[near] for near in difflib.get_close_matches(name.lower(), low, n=3, cutoff=0.6)]


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
