"""What a user can mend is a `SettingError` with one line; any other exception is a mistake of this package."""

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST = 800
"""Characters of a complaint: more is no line that anybody reads."""


class SettingError(ValueError):
    """A setting, an array or a file that cannot be used: what it is, what was given and what would be right.

    One line, whatever was given: a **line** that is longer, or several, is brought to that.
    """

    def __init__(self, line: str = ""):
        super().__init__(one_line(line))


def setting_error(owner: type | str, name: str, value: Any, expected: str) -> SettingError:
    """The one form that every complaint about a setting takes."""
    who = owner if isinstance(owner, str) else owner.__name__
    return SettingError(f"{who}: {name} must be {expected}, got {short(value)}")


def refuse_unknown(what: str, name: Any, known: Iterable[str]) -> None:
    """Refuse a name that is none of those known."""
    names = list(known)
    if name not in names:
        raise unknown(what, name, names)


def unknown(what: str, name: Any, known: Iterable[str]) -> SettingError:
    """A name that is none of those known: the nearest ones, or all where none is near."""
    names, given = [str(one) for one in known], (name if isinstance(name, str) else short(name))[:60]
    near = difflib.get_close_matches(given, names, n=3, cutoff=0.6) or _same_but_case(given, names)
    advice = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(names)}"
    return SettingError(f"no {what} called {given!r}; {advice}")


def _same_but_case(name: str, names: list[str]) -> list[str]:
    low = {one.lower(): one for one in names}
    return [low[near] for near in difflib.get_close_matches(name.lower(), low, n=3, cutoff=0.6)]


def short(value: Any) -> str:
    """A value in at most 60 characters, even where Python itself refuses to write it: a number of 5,000 digits."""
    try:
        return one_line(repr(value), 60)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too long to write"


def one_line(text: str, most: int = LONGEST) -> str:
    """A text in one line of so many characters at most, without what a terminal would obey."""
    line = " ".join(text[: 2 * most].split())
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
    return line if len(line) <= most else f"{line[: most - 3]}..."
