"""What to keep of a run, and when: recording is a value that the loop does not look into."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._disk import storable
from .._settings import wrong
from .._trajectory import TAKEN
from .._types import Array, Float, Int
from ..networks import AbstractNetwork, Parameters, respond


class Snapshot(eqx.Module):
    """One network at one moment: what a record is a function of."""

    network: AbstractNetwork
    parameters: Parameters
    previous: Parameters
    """The parameters at the record before this one; the same at the first."""
    x: Float[Array, "n *pixels"]
    """A probe batch, the same at every record."""
    target: Float[Array, "*outputs n"]
    classes: Int[Array, " n"]
    labels: Array | None
    criterion: Callable = eqx.field(static=True)


def loss(s: Snapshot) -> Float[Array, ""]:
    """The loss on the probe batch."""
    responses = respond(s.network.filters(s.parameters), s.x)
    error = s.criterion(s.network.output(s.parameters, responses), s.target)
    return jnp.mean(error) + s.network.penalty(s.parameters, responses)


def accuracy(s: Snapshot) -> Float[Array, ""]:
    """The share of the probe batch whose class is told right: nearest label, or largest output."""
    prediction = s.network(s.parameters, s.x)
    if s.network.outputs > 1:
        return jnp.mean(jnp.argmax(prediction, axis=0) == s.classes, dtype=prediction.dtype)
    if s.labels is None:
        raise wrong("train", "record", "accuracy", "used with labels that are numbers, one per class")
    labels = jnp.asarray(s.labels, prediction.dtype)
    told = jnp.argmin(jnp.abs(prediction[..., None] - labels), axis=-1)
    return jnp.mean(told == s.classes, dtype=prediction.dtype)


def gates(s: Snapshot) -> Float[Array, " filters"]:
    """For each filter, the share of the probe batch whose response kept its sign since the last record."""
    now, before = (respond(s.network.filters(p), s.x) > 0 for p in (s.parameters, s.previous))
    return jnp.mean(now == before, axis=1, dtype=s.x.dtype)


RECORDS: dict[str, Callable[[Snapshot], Any]] = {"loss": loss, "accuracy": accuracy, "gates": gates}

Record = Sequence[str] | Mapping[str, str | Callable[[Snapshot], Any]]


RESERVED = {*TAKEN, "constant"} - {"loss"}
"""Names that a trajectory needs for itself."""


def chosen_records(record: Record) -> tuple[tuple[str, Callable[[Snapshot], Any]], ...]:
    """Records by name or as functions of a snapshot."""
    if isinstance(record, Mapping):
        for name in record:
            if str(name) in RESERVED:
                raise wrong("train", "record", name, f"called something else than {', '.join(sorted(RESERVED))}")
            storable(str(name), np.zeros(()))
        return tuple((str(name), f if callable(f) else _named(str(f))) for name, f in record.items())
    if isinstance(record, str):
        record = (record,)
    return tuple((name, _named(name)) for name in record)


def _named(name: str) -> Callable[[Snapshot], Any]:
    if name not in RECORDS:
        raise wrong("train", "record", name, f"one of {', '.join(RECORDS)}, or a dict of functions of a snapshot")
    return RECORDS[name]


class Logarithmic(eqx.Module):
    """Records at steps that grow by a constant factor."""

    count: int = eqx.field(static=True, default=50)


def record_steps(steps: int, save_every: int | Logarithmic | None) -> Int[np.ndarray, " records"]:
    """The steps that are recorded: always the first and the last."""
    if save_every is None:
        save_every = max(steps // 100, 1)
    if isinstance(save_every, Logarithmic):
        between = np.unique(np.geomspace(1, steps, max(save_every.count, 2)).round().astype(int))
    elif isinstance(save_every, int | np.integer) and not isinstance(save_every, bool) and save_every >= 1:
        between = np.arange(0, steps, save_every)
    else:
        raise wrong("train", "save_every", save_every, "a whole number of steps >= 1 or Logarithmic(count)")
    return np.unique(np.concatenate([[0], between, [steps]]))
