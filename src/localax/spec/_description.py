"""An object as plain data: two objects that behave alike have the same description, and other objects another.

It names runs in the store and tells whether a checkpoint may be taken up, so it must not call two things the same.
Classes and functions of versioned libraries are named; of anything else the code itself is described too.
"""

import dataclasses
import functools
import hashlib
import inspect
import sys
import types
from importlib import metadata
from typing import Any

import numpy as np

from .._text import parts

SHOWN = 64
"""Arrays of at most so many numbers are written out, larger ones as a checksum."""


def description(value: Any) -> Any:
    """Any ``value`` in JSON's types, by what its constructor took, or by its fields where it did not keep that."""
    return _described(value, ())


def _described(value: Any, inside: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in inside:  # a function that calls itself, a list that holds itself
        return "itself"
    again = functools.partial(_described, inside=(*inside, id(value)))
    if isinstance(value, tuple | list | set | frozenset):
        items = [again(item) for item in value]
        return items if isinstance(value, tuple | list) else sorted(items, key=repr)
    if isinstance(value, dict):
        return {str(name): again(item) for name, item in value.items()}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(np.asarray(value))
    if isinstance(value, functools.partial):
        return {"partial": again(value.func), "arguments": again(value.args), "keywords": again(value.keywords)}
    if isinstance(value, types.MethodType):
        return {"method": _name(value), "of": again(value.__self__)}
    if isinstance(value, type | types.ModuleType) or (callable(value) and hasattr(value, "__qualname__")):
        return _named(value, again)
    return _instance(value, again)


def _array(array: np.ndarray) -> Any:
    if array.size <= SHOWN and array.dtype.kind in "biufUS":
        return array.tolist()
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": digest}


# Classes and functions ------------------------------------------------------------------------------------------------


def _name(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return value.__name__
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _named(value: Any, again: Any) -> Any:
    """The name alone where it leads to the value in an installed library, else the name and the code."""
    if isinstance(value, types.ModuleType) or _in_a_library(value):
        return _name(value)
    return {"name": _name(value), **_code(value, again)}


def _in_a_library(value: Any) -> bool:
    """Whether a name in an installed, versioned library leads to this very object."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    found: Any = module
    for part in getattr(value, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    if found is not value or module is None:
        return False
    root = module.__name__.partition(".")[0]
    ours = __name__.partition(".")[0]
    return root == ours or root in sys.stdlib_module_names or _installed(root)


@functools.cache
def _installed(package: str) -> bool:
    """Whether a package is installed; most bear the name they are installed under, and asking for all takes long."""
    try:
        return bool(metadata.distribution(package))
    except metadata.PackageNotFoundError:
        return package in metadata.packages_distributions()


def _code(value: Any, again: Any) -> dict[str, Any]:
    if isinstance(value, type):
        own = {name: item for name, item in vars(value).items() if _is_code(item)}
        return {"code": {name: again(_function(item)) for name, item in sorted(own.items())}}
    function = inspect.unwrap(value)
    if not isinstance(function, types.FunctionType):
        return {}
    defaults = {"defaults": again(function.__defaults__), "keyword_defaults": again(function.__kwdefaults__)}
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    named = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    return {"code": _digest(function.__code__), **defaults, "closure": again(cells), "globals": again(named)}


def _is_code(item: Any) -> bool:
    return isinstance(_function(item), types.FunctionType)


def _function(item: Any) -> Any:
    """The function inside a method, a property or a wrapper."""
    for name in ("fget", "__func__", "func"):
        item = getattr(item, name, None) or item
    return inspect.unwrap(item) if callable(item) else item


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names(code: types.CodeType) -> list[str]:
    inner = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in _names(const)]
    return sorted({*code.co_names, *inner})


def _digest(code: types.CodeType) -> str:
    """A checksum of what a function does, wherever it stands in its file."""
    consts = [_digest(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    text = repr((code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Instances ------------------------------------------------------------------------------------------------------------


def _instance(value: Any, again: Any) -> Any:
    cls = type(value)
    kind = cls.__name__ if cls.__module__.partition(".")[0] == __name__.partition(".")[0] else _named(cls, again)
    if dataclasses.is_dataclass(value):
        return {"kind": kind, **{name: again(item) for name, item in parts(value).items()}}
    if getattr(value, "__dict__", None):
        return {"kind": kind, **{name: again(item) for name, item in sorted(vars(value).items())}}
    return {"kind": kind, "value": repr(value)}
