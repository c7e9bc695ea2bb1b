"""Every parameter of everything that a room offers is explained where ``help`` finds it."""

import ast
import contextlib
import enum
import functools
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

import localax
from localax import SettingError
from localax.spec import Setting, settings_of

ROOT = Path(localax.__file__).parent
ROOMS = sorted(
    ".".join(path.parent.relative_to(ROOT.parent).parts)
    for path in ROOT.rglob("__init__.py")
    if not any(part.startswith("_") or part == "toolkit" for part in path.parent.relative_to(ROOT).parts)
)


def unexplained(name: str, thing: Any) -> list[str]:
    """Parameters of a function, or of a class and its methods, that no docstring explains; of nothing else."""
    if inspect.isclass(thing) and not issubclass(thing, (enum.Enum, Exception)):
        return [*_missing(name, thing, _docstring(thing), _fields(thing)), *_in_methods(name, thing)]
    return _missing(name, thing, _docstring(thing)) if inspect.isfunction(inspect.unwrap(thing)) else []


def _in_methods(name: str, owner: type) -> Iterator[str]:
    """Those of the methods that it defines; what the method says that one overrides counts too."""
    for method in vars(owner):
        function = getattr(owner, method)
        if callable(function) and not inspect.isclass(function) and (method == "__call__" or method[0] != "_"):
            texts = [_docstring(vars(kind)[method]) for kind in owner.__mro__ if method in vars(kind)]
            yield from _missing(f"{name}.{method}", function, " ".join(texts))


def _missing(name: str, thing: Any, text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """What a caller can give by name, and the text does not mark as ``**name**`` or as code."""
    marked = " ".join(re.findall(r"\*\*.+?\*\*|``.+?``", text, flags=re.S))
    named = [p.name for p in inspect.signature(thing).parameters.values() if p.kind is not p.POSITIONAL_ONLY]
    asked = [one for one in named if one != "self" and not one.startswith("_") and one not in known]
    return [f"{name}: {one}" for one in asked if not re.search(rf"\b{one}\b", marked)]


def _docstring(thing: Any) -> str:
    return getattr(thing, "__doc__", None) or ""


def _fields(kind: type) -> frozenset[str]:
    """The fields that explain themselves: by a `Setting`, or by a docstring below them."""
    ours = [base for base in kind.__mro__ if base.__module__.split(".")[0] in ("localax", __name__)]
    bodies = [ast.parse(textwrap.dedent(inspect.getsource(base))).body[0] for base in ours]
    pairs = [pair for body in bodies for pair in itertools.pairwise(body.body)]
    below = [field.target.id for field, text in pairs if isinstance(field, ast.AnnAssign) and _is_text(text)]
    with contextlib.suppress(NameError):  # of a type that is there for type checkers alone
        below += settings_of(kind)
    return frozenset(below)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize("room", ROOMS)
def test_every_parameter_is_explained(room):
    front = importlib.import_module(room)
    assert [text for name in front.__all__ for text in unexplained(name, getattr(front, name))] == []


# That this test can fail ----------------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = 1


Word = Literal["yes", "no"]


def passed_on(function):
    """A decorator such as pytest's checks of types and our own compilation."""

    @functools.wraps(function)
    def wrapped(*args, **named):
        return function(*args, **named)

    return wrapped


@dataclass(frozen=True)
class Record:
    """A record of ``size`` many things."""

    size: int
    below: int
    """Explained by the line below it."""
    ranged: Annotated[int, Setting("explained by its setting", kind=int)]
    bare: int

    def method(self, given, *, _hidden=0):
        """With **given**."""

    def other(self, wanted):
        """The word wanted is in the sentence, and explains nothing."""

    def __call__(self, x): ...

    @classmethod
    @passed_on
    def made(cls, name): ...

    @property
    def half(self): ...


@dataclass(frozen=True)
class Special(Record):
    """A record of ``size`` many things."""

    def method(self, given, more=0):
        """In another way."""

    def other(self, wanted): ...


@passed_on
def documented(a, b, *rest, **options):
    """Of **a** and ``f(b)``, with **rest** and **options**."""


def bare(a, b): ...


@pytest.mark.parametrize(
    ("thing", "found"),
    [
        (documented, []),
        (bare, ["a", "b"]),
        (Record, [": bare", ".other: wanted", ".__call__: x", ".made: name"]),
        (Special, [": bare", ".method: more", ".other: wanted"]),
        *((nothing, []) for nothing in (Colour, Word, int | None, list[int], {"a": bare}, SettingError)),
    ],
)
def test_what_is_not_explained_is_found(thing, found):
    assert unexplained("x", thing) == [f"x{one}" if ":" in one else f"x: {one}" for one in found]
