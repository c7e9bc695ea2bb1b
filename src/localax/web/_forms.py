"""Forms: the one place that turns the `Setting` annotations of a class into fields that a page can draw.

A new stimulus, network, marginal or covariance is on the page as soon as it is on its shelf.
"""

import dataclasses
import inspect
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import networks, stimuli
from ..runner import STANDARD, completed_stimulus, in_words
from ..spec import Setting, listing, settings_of
from ._limits import LIMITS, LabRun

Field = dict[str, Any]
Kind = dict[str, Any]

SIDES = (4, 200)
"""Pixels of a ring that a slider offers."""
RARE = ("data_seed", "stream", "loss", "optimiser")
"""Settings that few change: the page shows them when asked."""
WORDS = {float: "number", int: "integer", bool: "boolean"}


def kinds(shelf: Iterable[type], *, per_class: bool = False) -> list[Kind]:
    """A form for each class of a **shelf**; **per_class**: whether settings may differ between a task's classes."""
    return [_kind(cls, per_class) for cls in shelf]


def _kind(cls: type, per_class: bool) -> Kind:
    words, meaning = in_words(cls), listing(cls)["meaning"]
    known, parameters = settings_of(words), inspect.signature(words).parameters.values()
    arrays = [p.name for p in parameters if p.default is p.empty and p.name not in known]
    note = f"needs {' and '.join(arrays)}: arrays, which Python alone can give" if arrays else ""
    fields = [_field(words, name, setting, per_class) for name, setting in known.items()]
    return {"kind": cls.__name__, "meaning": meaning, "fields": fields, "ready": not arrays, "note": note}


def _field(cls: type, name: str, setting: Setting, per_class: bool) -> Field:
    default = _default(cls, name, setting, per_class)
    field = {
        "name": name,
        "label": name.replace("_", " "),
        "type": _type(setting),
        "meaning": setting.meaning,
        "range": setting.range,
        "default": default,
        "rare": name in RARE,
        "per_class": per_class and setting.options is None and setting.kind in (float, int, str),
    }
    if setting.choices:
        return {**field, "choices": [list(c) if isinstance(c, tuple) else c for c in setting.choices]}
    if setting.options is not None:
        return {**field, "options": kinds(_simple(setting), per_class=per_class)}
    if setting.kind == "size":
        return {**field, "min": SIDES[0], "max": SIDES[1], "step": 1, "scale": "linear", "lowest": 2,
                "highest": LIMITS["pixels"]}  # fmt: skip
    return {**field, **_slider(setting, default)} if setting.kind in (float, int) else field


def _type(setting: Setting) -> str:
    if setting.choices:
        return "choice"
    if setting.options is not None:
        return "object"
    if setting.many is not None:
        return "numbers"
    return setting.kind if setting.kind in ("size", "file") else WORDS.get(setting.kind, "number")


def _default(cls: type, name: str, setting: Setting, per_class: bool) -> Any:
    """What the lab takes where nothing is said: the constructor's default, the standard task's, or what is typical."""
    if per_class and name in STANDARD:
        standard = STANDARD[name]
        return completed_stimulus(standard) if name == "stimulus" else _object(standard)
    given = inspect.signature(cls).parameters[name].default
    if given is not inspect.Parameter.empty:
        return _plain(given)
    if setting.choices:
        return _plain(setting.choices[0])
    if setting.options is not None:
        return _first(setting, per_class)
    if setting.kind == "size":
        return STANDARD["size"]
    return "" if setting.kind == "file" else _middle(setting)


def _object(standard: Any) -> Any:
    return {"kind": standard} if isinstance(standard, str) else standard


def _simple(setting: Setting) -> list[type]:
    """The classes that a nested object may have, without those that hold one of their own kind: forms must end."""
    offered = tuple(setting.options() if setting.options else ())
    inner = {cls: [s.options for s in settings_of(cls).values() if s.options] for cls in offered}
    return [cls for cls in offered if not any(cls in options() for options in inner[cls])]


def _first(setting: Setting, per_class: bool) -> dict[str, Any]:
    """The first kind on a shelf, with what it needs filled in."""
    cls = _simple(setting)[0]
    parameters = inspect.signature(cls).parameters
    needed = {n: s for n, s in settings_of(cls).items() if parameters[n].default is inspect.Parameter.empty}
    return {"kind": cls.__name__, **{name: _default(cls, name, inner, per_class) for name, inner in needed.items()}}


def _plain(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, tuple):
        return list(value)
    plain = value is None or isinstance(value, bool | int | float | str | list)
    return value if plain else {"kind": type(value).__name__}


def _middle(setting: Setting) -> float | int:
    low, high = setting.typical or (1, 1)
    middle = math.sqrt(low * high) if _is_log(setting) else (low + high) / 2
    return round(middle) if setting.kind is int else float(f"{middle:.2g}")


def _is_log(setting: Setting) -> bool:
    low, high = setting.typical or (0, 0)
    return setting.kind is float and low > 0 and high / low >= 30


def _slider(setting: Setting, default: Any) -> Field:
    """Where a slider begins and ends, by what steps, and what may be typed beyond it."""
    values = [v for v in (default if isinstance(default, list) else [default]) if isinstance(v, int | float)]
    low, high = setting.typical or (min(values, default=0), max(values, default=1))
    low, high = min([low, *values]), max([high, *values])
    log = _is_log(setting)
    step = None if log else 1 if setting.kind is int else 10.0 ** math.floor(math.log10(max(high - low, 1e-9) / 100))
    nudge = 1 if setting.kind is int else abs(high - low) * 1e-6
    lowest = setting.ge if setting.gt is None else setting.gt + nudge
    highest = setting.le if setting.lt is None else setting.lt - nudge
    return {"min": low, "max": high, "step": step, "scale": "log" if log else "linear",
            "lowest": lowest, "highest": highest}  # fmt: skip


DEFAULTS: dict[str, Any] = {
    "stimulus": {"kind": "NLGP", "size": 40, "lengthscale": [1, 3], "gain": 3},
    "network": {"kind": "SingleReLU"},
    "init": {"kind": "Xavier", "scale": 0.001},
    **{field.name: field.default for field in dataclasses.fields(LabRun)},
}
"""What a preset leaves out: the paper's lengthscale task."""
OPENING: dict[str, Any] = {**DEFAULTS, "steps": 3000, "rate": 0.02}
"""What the page opens with: the same, slowly enough to see the field form."""


def forms() -> dict[str, Any]:
    """Every form of the page."""
    return {
        "defaults": OPENING,
        "stimuli": kinds(stimuli.ALL, per_class=True),
        "networks": kinds(networks.ALL),
        "initialisers": kinds(networks.INITIALISERS),
        "run": kinds([LabRun])[0]["fields"],
    }
