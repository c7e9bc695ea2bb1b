"""Every class says once, in the annotations of its fields, what its settings mean and which values they may take.

From these annotations come the checks in the constructors, the lists that the command line prints, and the objects
that settings files describe. There is no second list.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

import numpy as np

from .._errors import setting_error
from .._system import memory

WHOLE = 2**31
"""Whole-number settings are below this: they are stored as int32."""
PIXEL_BYTES = 100
"""What making a stimulus takes for each pixel: its covariance, spectrum and square root in float64, with copies."""
NETWORK_BYTES = 1000
"""What the smallest network takes at least, with its seed, its keys and what is recorded of it."""

Size = int | tuple[int, int]
Number = int | float


NOUNS = {float: "a finite number", int: "a whole number", bool: "true or false", "file": "a file"}


@dataclass(frozen=True)
class Setting:
    """What a field means and which values it may take.

    ``meaning`` is one line for people, with the unit where there is one. ``gt``, ``ge``, ``lt`` and ``le`` bound a
    number (>, >=, <, <=); None leaves that side open. ``kind`` is ``float``, ``int``, ``bool``, ``"file"`` or
    ``"size"`` (pixels of a ring, or height and width of a torus). ``choices`` lists literal values; ``options`` gives,
    when called, the classes a nested object may have. ``typical`` is the range that a slider offers and that the tests
    draw from.
    """

    meaning: str
    kind: Any = float
    gt: Number | None = None
    ge: Number | None = None
    lt: Number | None = None
    le: Number | None = None
    typical: tuple[Number, Number] | None = None
    choices: tuple[Any, ...] = ()
    options: Callable[[], Iterable[type]] | None = None
    parameter: str | None = None
    """The constructor's name for it, where the field has another."""
    sweep: bool = False
    """Whether a list of values is taken too, each a setting of its own."""
    many: tuple[int, int | None] | None = None
    """Where the setting is a list of values: how many there must and may be."""
    rising: bool = False
    """Whether such a list must grow: its first and last values stand for the least and the largest."""
    even: bool = False
    """Whether a number must be even: as a number of samples, of which half are of either class."""

    @property
    def range(self) -> str:
        """The valid values, in words."""
        if self.many is not None:
            least, most = self.many
            count = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            grow = ", rising" * self.rising
            return f"{count} values{grow}, each {replace(self, many=None).range}"
        if self.choices:
            return "one of " + ", ".join(map(repr, self.choices))
        if self.options:
            return "one of " + ", ".join(c.__name__ for c in self.options())
        if self.kind == "size":
            return "a whole number >= 2 (ring) or two of them (torus)"
        symbols = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
        limits = [
            f"{symbol} {getattr(self, name):g}" for name, symbol in symbols.items() if getattr(self, name) is not None
        ]
        limits += ["even"] * self.even
        return " ".join([NOUNS.get(self.kind, ""), " and ".join(limits)]).strip()


SIZE = Setting("pixels of the ring, or (height, width) of the torus", kind="size")
SizeField = Annotated[Size, SIZE]


def settings_of(cls: type) -> dict[str, Setting]:
    """The settings of the class ``cls``: annotated fields that its constructor takes, in the constructor's order."""
    return dict(_settings_of(cls))


@functools.cache
def _settings_of(cls: type) -> dict[str, Setting]:
    hints = get_type_hints(cls, include_extras=True)
    notes = {
        s.parameter or name: s
        for name, hint in hints.items()
        for s in getattr(hint, "__metadata__", ())
        if isinstance(s, Setting)
    }
    return {name: notes[name] for name in inspect.signature(cls).parameters if name in notes}


def validated(cls: type, **values: Any) -> tuple[Any, ...]:
    """The ``values`` of a constructor, by name, checked against the annotations of ``cls``, in the order given.

    Numbers come back as float64 arrays, whole ones as int32.
    """
    settings = settings_of(cls)
    return tuple(_check(cls, name, value, settings[name]) for name, value in values.items())


def _check(cls: type | str, name: str, value: Any, setting: Setting) -> Any:
    if setting.choices:
        if not any(type(value) is type(c) and value == c for c in setting.choices):
            raise setting_error(cls, name, value, setting.range)
        return value
    if setting.options:
        return value  # nested objects were checked when they were built
    if setting.kind == "size":
        return checked_size(cls, value)
    if setting.kind is bool:
        if not isinstance(value, bool | np.bool_):
            raise setting_error(cls, name, value, setting.range)
        return bool(value)
    return _number(cls, name, value, setting)


def plain_settings(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a class ``cls``, out of ``values`` by name, checked, as Python's own numbers, texts, tuples."""
    return {name: _plain(cls, name, values[name], setting) for name, setting in settings_of(cls).items()}


def _plain(cls: type, name: str, value: Any, setting: Setting) -> Any:
    if setting.many is None:
        checked = _check(cls, name, value, setting)
        return checked.item() if isinstance(checked, np.ndarray) else checked
    items = tuple(value) if isinstance(value, list | tuple | np.ndarray) else (value,)
    least, most = setting.many
    if len(items) < least or (most is not None and len(items) > most):
        raise setting_error(cls, name, value, setting.range)
    single = replace(setting, many=None)
    found = tuple(_plain(cls, name, item, single) for item in items)
    if setting.rising and any(a >= b for a, b in pairwise(found)):
        raise setting_error(cls, name, value, setting.range)
    return found


def finite_array(cls: type | str, name: str, value: Any, expected: str) -> np.ndarray:
    """``value`` as an array of real, finite numbers; nothing else is taken for one.

    Where it is none, the error says that ``name`` of ``cls`` is wrong and, in the words of ``expected``, what would be
    right.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nested lists
        raise setting_error(cls, name, value, expected) from error
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise setting_error(cls, name, value, expected)
    return array


def instance(cls: type | str, name: str, value: Any, kind: type, expected: str) -> Any:
    """A nested object, ``value``, if it is an instance of ``kind``; else an error as of :func:`finite_array`.

    ``name`` is what the setting of ``cls`` is called, ``expected`` says in words what it should be.
    """
    if not isinstance(value, kind):
        raise setting_error(cls, name, value, expected)
    return value


def _number(cls: type | str, name: str, value: Any, setting: Setting) -> Any:
    array = finite_array(cls, name, value, setting.range)
    if array.ndim > int(setting.sweep) or not array.size or (setting.kind is int and array.dtype.kind == "f"):
        raise setting_error(cls, name, value, setting.range)
    inside = (
        (setting.gt is None or array > setting.gt)
        & (setting.ge is None or array >= setting.ge)
        & (setting.lt is None or array < setting.lt)
        & (setting.le is None or array <= setting.le)
        & (not setting.even or array % 2 == 0)
    )
    if not np.all(inside):
        raise setting_error(cls, name, value, setting.range)
    if setting.kind is int and np.any(np.abs(array.astype(float)) >= WHOLE):
        raise setting_error(cls, name, value, f"{setting.range}, below 2^31")
    return array.astype(np.int32 if setting.kind is int else np.float64)


def checked_size(cls: type | str, size: Any) -> Size:
    """A ring's or torus's ``size``, as plain integers; at least 2 pixels a side, and no more than memory holds.

    ``cls``: whom complaints name.
    """
    sides = size if isinstance(size, tuple | list) else (size,)
    whole = all(isinstance(side, int | np.integer) and not isinstance(side, bool) for side in sides)
    if not whole or len(sides) not in (1, 2) or min(sides) < 2:
        raise setting_error(cls, "size", size, SIZE.range)
    largest = memory() // PIXEL_BYTES
    if math.prod(int(side) for side in sides) > largest:
        raise setting_error(cls, "size", size, f"at most {largest:,} pixels, what the memory of this machine holds")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


def checked_count(cls: type | str, n: Any, least: int = 1) -> int:
    """A number of samples: ``n``, if it is a whole number and at least ``least``; ``cls`` is whom complaints name."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < least:
        raise setting_error(cls, "n", n, f"a whole number >= {least}")
    return int(n)


def counted_seeds(cls: type | str, count: int) -> int:
    """How many networks to start: ``count``, if so many can fit at all; ``cls`` is whom complaints name."""
    most = memory() // NETWORK_BYTES
    if not 1 <= count <= most:
        raise setting_error(cls, "seeds", count, f"from 1 to {most:,}, what the memory of this machine holds")
    return int(count)
