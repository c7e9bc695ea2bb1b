"""Several settings trained at once: what is swept, by which names, and how it is laid side by side.

Tasks, rates and starts can be lists. One list is an axis by itself; of several it must be said whether they are taken
together ("zip") or in every combination ("product").
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .._errors import SettingError, setting_error, unknown
from ..networks import AbstractInitialiser
from ..spec import description
from ..stimuli import Task

SWEEPS = ("zip", "product")


class Sweep(eqx.Module):
    """Tasks, rates and starts, setting by setting; those that are not swept are one for all."""

    tasks: list[Task]
    rates: np.ndarray
    starts: list[AbstractInitialiser]
    width: int
    """How many settings there are; 0 where nothing is swept, so that there is no axis."""
    coordinates: dict[str, np.ndarray]
    """Values along the sweep axis, by name."""


def arranged(
    tasks: list[Task], rates: np.ndarray, starts: list[AbstractInitialiser], how: Any, swept: set[str]
) -> Sweep:
    """The settings of a sweep in order; ``swept`` are the names of what was given as a list."""
    parts: dict[str, Any] = {"task": tasks, "rate": rates.reshape(-1), "init": starts}
    lengths = {name: len(part) for name, part in parts.items() if name in swept}
    _check(how, lengths)
    if not swept:
        return Sweep(tasks, rates, starts, 0, {})
    if how == "product":
        places = dict(zip(lengths, np.indices(tuple(lengths.values())).reshape(len(lengths), -1), strict=True))
        parts = {name: [part[i] for i in places[name]] if name in places else part for name, part in parts.items()}
    width = len(parts[next(iter(lengths))])
    tasks, rates, starts = parts["task"], np.asarray(parts["rate"], float), parts["init"]
    rates = rates if "rate" in swept else rates.reshape(())
    return Sweep(tasks, rates, starts, width, _coordinates(tasks, rates, starts, swept))


def _check(how: Any, lengths: dict[str, int]) -> None:
    if how is not None and how not in SWEEPS:
        raise unknown("sweep", how, SWEEPS)
    said = ", ".join(f"{count} of {name}" for name, count in lengths.items())
    if len(lengths) > 1 and how is None:
        raise setting_error("train", "sweep", None, f"'zip' (taken together) or 'product' (all of them), with {said}")
    if how != "product" and len(set(lengths.values())) > 1:
        raise SettingError(f"train: lists that are taken together must be equally long, got {said}")


# Names ----------------------------------------------------------------------------------------------------------------


def _coordinates(tasks, rates, starts, swept: set[str]) -> dict[str, np.ndarray]:
    found = differing_settings(tasks) if "task" in swept else {}
    if "rate" in swept:
        found["rate"] = rates
    if "init" in swept:
        scales = [getattr(start, "scale", None) for start in starts]
        known = all(scale is not None for scale in scales)
        found["scale" if known else "init"] = np.asarray(scales if known else range(len(starts)), float)
    return found


def differing_settings(tasks: Sequence[Task]) -> dict[str, np.ndarray]:
    """The numeric settings in which tasks differ, by name, class by class where classes differ in them.

    Where it is no number that differs, the tasks are counted.
    """
    rows = [dict(_numbers(description(task), ())) for task in tasks]
    paths = [path for path in rows[0] if len({row.get(path) for row in rows}) > 1]
    found: dict[str, np.ndarray] = {}
    for path in paths:
        values = np.array([row.get(path, np.nan) for row in rows])
        twins = [p for p in rows[0] if _setting(p) == _setting(path)]
        alike = all(all(row.get(p) == row.get(path) for row in rows) for p in twins)
        found[_name(path) if alike else f"{_name(path)}_{path[1]}"] = values
    return found or {"task": np.arange(len(tasks))}


def _numbers(value: Any, path: tuple) -> Any:
    """Every number in plain data, with the way to it."""
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _numbers(item, (*path, name))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _setting(path: tuple) -> tuple:
    """The way to a setting without its class, which is the second step of every way: ("stimuli", 0, "gain")."""
    return path[:1] + path[2:]


def _name(path: tuple) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "task")


# Stacks ---------------------------------------------------------------------------------------------------------------


def stacked(tasks: list[Task]) -> Task:
    """Tasks of one kind with their numbers along a new first axis."""
    forms = {str(jax.tree.structure(t)) for t in tasks}
    shapes = {tuple(np.shape(leaf) for leaf in jax.tree.leaves(t)) for t in tasks}
    if len(forms) > 1 or len(shapes) > 1:
        raise SettingError("train: swept tasks must have the same kinds of stimuli, sizes and proportions")
    return jax.tree.map(lambda *leaves: np.stack(leaves), *tasks)


def of_type(task: Task, dtype: Any) -> Task:
    """The task with its numbers of one type: a float64 numpy leaf would enter the compiled loop as what x64 says."""
    return jax.tree.map(lambda leaf: on_device(leaf, dtype) if eqx.is_inexact_array_like(leaf) else leaf, task)


def on_device(value: Any, dtype: Any) -> jax.Array:
    """Numbers for the compiled loop; ``jnp.asarray`` would compile a program for every shape.

    A copy, since JAX may keep what it made of one and the same array while x64 was off, and give it back as float64.
    """
    return jax.device_put(np.array(value, dtype))
