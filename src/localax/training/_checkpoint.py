"""Checkpoints: everything a run needs to go on, in one file written whole or not at all."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._disk import canonical, pack, unpack, write_atomically
from ._loop import State

KIND = "localax training checkpoint"


def write_checkpoint(path: Path, settings: dict[str, Any], step: int, state: State, previous: Any, kept: list) -> None:
    """Save a run that has reached ``step`` with the records kept so far."""
    arrays = {
        **{f"state{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))},
        **{f"previous{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(previous))},
        **{f"kept{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(joined(kept)))},
    }
    write_atomically(path, pack(arrays, {"settings": settings, "step": step}, kind=KIND))


def read_checkpoint(path: Path, settings: dict[str, Any], state: State, previous: Any, form: Any) -> tuple:
    """The step, state, previous parameters and records of a saved run; refused if it is of other settings.

    The state and parameters at the start, and the form of a record, say how its arrays belong together.
    """
    arrays, meta = unpack(path, kind=KIND)
    if canonical(meta["settings"]) != canonical(settings):
        raise ValueError(f"checkpoint {path} is of another run: {_difference(meta['settings'], settings)}")
    restored = (_refilled(arrays, name, like) for name, like in (("state", state), ("previous", previous)))
    return meta["step"], *restored, [_refilled(arrays, "kept", form)]


def _refilled(arrays: dict[str, np.ndarray], name: str, like: Any) -> Any:
    leaves, form = jax.tree.flatten(like)
    return jax.tree.unflatten(form, [arrays[f"{name}{i}"] for i in range(len(leaves))])


def joined(kept: list) -> Any:
    """Records of several calls along one axis of time."""
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts]), *kept)


def _difference(saved: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The first setting in which two runs differ."""
    for name in sorted(saved.keys() | wanted.keys()):
        if saved.get(name) != wanted.get(name):
            return f"its {name} is {_short(saved.get(name))}, this run's {_short(wanted.get(name))}"
    return "its settings differ"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
