"""Every class says once, in the annotations of its fields, what its settings mean and which values they may take.

From these annotations come the checks in the constructors, the lists that the command line prints, and the
pydantic models behind settings files and forms. There is no second list.
"""

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_type_hints

import numpy as np
import pydantic

Size = int | tuple[int, int]
Number = int | float


@dataclass(frozen=True)
class Setting:
    """What a field means and which values it may take.

    ``kind`` is ``float``, ``int``, ``bool`` or ``"size"`` (pixels of a ring, or height and width of a torus).
    ``choices`` lists literal values; ``options`` gives, when called, the classes a nested object may have.
    ``typical`` is the range that a slider offers and that the tests draw from.
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

    @property
    def range(self) -> str:
        """The valid values, in words."""
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
        noun = {float: "a finite number", int: "a whole number", bool: "true or false"}.get(self.kind, "")
        return " ".join([noun, " and ".join(limits)]).strip()


SIZE = Setting("pixels of the ring, or (height, width) of the torus", kind="size")
SizeField = Annotated[Size, SIZE]


def settings_of(cls: type) -> dict[str, Setting]:
    """The settings of a class: its annotated fields that the constructor takes, in the constructor's order."""
    hints = get_type_hints(cls, include_extras=True)
    notes = {
        s.parameter or name: s
        for name, hint in hints.items()
        for s in getattr(hint, "__metadata__", ())
        if isinstance(s, Setting)
    }
    return {name: notes[name] for name in inspect.signature(cls).parameters if name in notes}


def wrong(cls: type | str, name: str, value: Any, expected: str) -> ValueError:
    """The one form that every complaint about a setting takes."""
    owner = cls if isinstance(cls, str) else cls.__name__
    return ValueError(f"{owner}: {name} must be {expected}, got {_short(value)}")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def validated(cls: type, **values: Any) -> tuple[Any, ...]:
    """The values of a constructor, checked against the class's annotations; numbers come back as float64 arrays."""
    settings = settings_of(cls)
    return tuple(_check(cls, name, value, settings[name]) for name, value in values.items())


def _check(cls: type | str, name: str, value: Any, setting: Setting) -> Any:
    if setting.choices:
        if not any(type(value) is type(c) and value == c for c in setting.choices):
            raise wrong(cls, name, value, setting.range)
        return value
    if setting.options:
        return value  # nested objects were checked when they were built
    if setting.kind == "size":
        return checked_size(cls, value)
    if setting.kind is bool:
        if not isinstance(value, bool | np.bool_):
            raise wrong(cls, name, value, setting.range)
        return bool(value)
    return _number(cls, name, value, setting)


def finite_array(cls: type | str, name: str, value: Any, expected: str) -> np.ndarray:
    """Real, finite numbers as an array; nothing else is taken for one."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nested lists
        raise wrong(cls, name, value, expected) from error
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise wrong(cls, name, value, expected)
    return array


def instance(cls: type | str, name: str, value: Any, kind: type, expected: str) -> Any:
    """A nested object, if it is of the right kind."""
    if not isinstance(value, kind):
        raise wrong(cls, name, value, expected)
    return value


def _number(cls: type | str, name: str, value: Any, setting: Setting) -> Any:
    array = finite_array(cls, name, value, setting.range)
    if array.ndim > int(setting.sweep) or not array.size or (setting.kind is int and array.dtype.kind == "f"):
        raise wrong(cls, name, value, setting.range)
    inside = (
        (setting.gt is None or array > setting.gt)
        & (setting.ge is None or array >= setting.ge)
        & (setting.lt is None or array < setting.lt)
        & (setting.le is None or array <= setting.le)
    )
    if not np.all(inside):
        raise wrong(cls, name, value, setting.range)
    return array.astype(np.int32 if setting.kind is int else np.float64)


def checked_size(cls: type | str, size: Any) -> Size:
    """A ring's or torus's size, as plain integers."""
    sides = size if isinstance(size, tuple | list) else (size,)
    whole = all(isinstance(side, int | np.integer) and not isinstance(side, bool) for side in sides)
    if not whole or len(sides) not in (1, 2) or min(sides) < 2:
        raise wrong(cls, "size", size, SIZE.range)
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


def checked_count(cls: type | str, n: Any, least: int = 1) -> int:
    """A number of samples."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < least:
        raise wrong(cls, "n", n, f"a whole number >= {least}")
    return int(n)


_Side = Annotated[int, pydantic.Field(ge=2)]
_TYPES = {float: float, int: int, bool: bool, "size": _Side | tuple[_Side, _Side]}


def settings_model(cls: type) -> type[pydantic.BaseModel]:
    """A frozen pydantic model of a class's settings, with ``kind`` naming the class."""
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    fields: dict[str, Any] = {"kind": (Literal[cls.__name__], cls.__name__)}
    for name, setting in settings_of(cls).items():
        default = ... if defaults[name] is inspect.Parameter.empty else defaults[name]
        limits = {limit: getattr(setting, limit) for limit in ("gt", "ge", "lt", "le")}
        fields[name] = (_field_type(setting), pydantic.Field(default, description=setting.meaning, **limits))
    config = pydantic.ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )
    return pydantic.create_model(cls.__name__, __config__=config, __doc__=cls.__doc__, **fields)


def _field_type(setting: Setting) -> Any:
    if setting.choices:
        return Literal[setting.choices]
    if setting.options is None:
        return _TYPES[setting.kind]
    models: Any = tuple(settings_model(option) for option in setting.options())
    return Annotated[Union[models], pydantic.Field(discriminator="kind")] if models[1:] else models[0]  # noqa: UP007


def description(value: Any) -> Any:
    """An object as plain data, by what its constructor took: the same settings give the same description."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [description(item) for item in value]
    if isinstance(value, dict):
        return {str(name): description(item) for name, item in value.items()}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array_description(np.asarray(value))
    if inspect.isroutine(value) or not dataclasses.is_dataclass(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    cls = type(value)
    aliases = {hint.__metadata__[0].parameter: name for name, hint in _aliased(cls)}
    fields = {name: getattr(value, aliases.get(name, name), None) for name in inspect.signature(cls).parameters}
    return {"kind": cls.__name__, **{name: description(item) for name, item in fields.items()}}


def _aliased(cls: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(cls, include_extras=True).items()
    return [
        (name, h) for name, h in hints if any(getattr(s, "parameter", None) for s in getattr(h, "__metadata__", ()))
    ]


def _array_description(array: np.ndarray) -> Any:
    if array.size <= 64:
        return array.tolist()
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": digest}


def described(cls: type) -> dict[str, Any]:
    """A class as data: name, one line of meaning, and its settings with their ranges."""
    parameters = inspect.signature(cls).parameters
    rows = []
    for name, setting in settings_of(cls).items():
        row = {"name": name, "meaning": setting.meaning, "range": setting.range}
        if parameters[name].default is not inspect.Parameter.empty:
            row["default"] = parameters[name].default
        rows.append(row)
    return {"name": cls.__name__, "meaning": (cls.__doc__ or "").strip().splitlines()[0], "settings": rows}
