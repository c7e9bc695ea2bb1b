"""Whether a value that was read from a file is of the kind that a field is declared to have."""

import dataclasses
import functools
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def misfit(record: Any) -> str | None:
    """The first field of a dataclass whose value is of another kind than it is declared to be; None if none is."""
    kinds = _declared(type(record))
    names = (field.name for field in dataclasses.fields(record))
    return next((name for name in names if not _fits(getattr(record, name), kinds[name])), None)


@functools.cache
def _declared(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in inner
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        each = inner[:1] * len(value) if inner[-1] is ... else inner
        return isinstance(value, tuple) and len(value) == len(each) and all(map(_fits, value, each))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if kind is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return isinstance(value, int | float if kind is float else kind)
