"""Objects in words, for people at a prompt or in a notebook: short texts, and small tables in which all is escaped."""

import dataclasses
import html
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_type_hints

import numpy as np

FEW = 8
"""So many numbers, or rows of a table over time, are shown; of more, some."""
LONGEST = 500


def parts(value: Any) -> dict[str, Any]:
    """What the constructor of a dataclass took, where all of it was kept; else every field.

    A None may stand for what is kept under another name, such as labels that are a function.
    """
    fields = {field.name for field in dataclasses.fields(value)}
    stored = {parameter: name for name, parameter in _renamed(type(value)).items()}
    taken = {name: stored.get(name, name) for name in inspect.signature(type(value)).parameters}
    if not set(taken.values()) <= fields or any(getattr(value, at) is None for at in taken.values()):
        taken = {name: name for name in sorted(fields)}
    return {name: getattr(value, at) for name, at in taken.items()}


def _renamed(cls: type) -> dict[str, str]:
    """The fields whose setting has another name in the constructor, and that name."""
    notes = {name: getattr(hint, "__metadata__", ()) for name, hint in get_type_hints(cls, include_extras=True).items()}
    return {name: s.parameter for name, all_ in notes.items() for s in all_ if getattr(s, "parameter", None)}


def readable(self: Any) -> str:
    """The ``__repr__`` of a dataclass as the call that makes it, ``NLGP(size=40, lengthscale=3, gain=3)``."""
    return call(type(self).__name__, parts(self))


def call(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={brief(value)}' for key, value in arguments.items())})"


def brief(value: Any) -> str:
    """A value in one short line: numbers without needless digits, large arrays by their shape."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple | list):
        inside = _listed([brief(item) for item in value])
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, dict) and isinstance(value.get("kind"), str):  # an object that was described
        return call(value["kind"], {name: item for name, item in value.items() if name != "kind"})
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__qualname__
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _array(value: Any) -> str:
    shape = tuple(value.shape)
    if len(shape) > 1 or np.prod(shape) > FEW:
        return f"<{' x '.join(map(str, shape))} numbers>"
    try:
        array = np.asarray(value)
    except TypeError:  # traced: it has no value
        return f"<{value.dtype}>"
    texts = [str(item).removesuffix(".0") for item in array.ravel()]
    return f"[{', '.join(texts)}]" if shape else texts[0]


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts if len(texts) <= FEW else [*texts[:3], "...", *texts[-1:]])


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = (), caption: str = "") -> str:
    """A small table in HTML, for ``_repr_html_``; every text in it is escaped."""
    lines = [f"<table><caption>{html.escape(caption)}</caption>"]
    lines += [_row("th", head)] if head else []
    return "\n".join([*lines, *(_row("td", row) for row in rows), "</table>"])


def _row(tag: str, cells: Sequence[Any]) -> str:
    inside = "".join(f'<{tag} style="text-align: left">{html.escape(str(cell))}</{tag}>' for cell in cells)
    return f"<tr>{inside}</tr>"


def folded(title: str, body: str) -> str:
    """A part of a page that opens when its title is clicked."""
    return f"<details><summary>{html.escape(title)}</summary>{body}</details>"
