"""What to keep of a run, and when: recording is a value that the loop does not look into."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._disk import storable
from .._errors import refuse_unknown, setting_error
from .._text import readable
from .._types import Array, Float, Int
from ..networks import AbstractNetwork, Parameters, respond
from ..trajectory import TAKEN
from ._arguments import whole


class Snapshot(eqx.Module):
    """One network at one moment: what a record is a function of."""

    network: AbstractNetwork
    """What is trained."""
    parameters: Parameters
    """Its parameters at this moment."""
    previous: Parameters
    """The parameters at the record before this one; the same at the first."""
    x: Float[Array, "n *pixels"]
    """A probe batch, the same at every record."""
    target: Float[Array, "*outputs n"]
    """What the network should give for the probe batch."""
    classes: Int[Array, " n"]
    """The class of each of its samples, from 0."""
    labels: Array | None
    """The label of each class; None where labels are a function of the sample."""
    criterion: Callable = eqx.field(static=True)
    """The loss of one sample, a function of (prediction, target)."""


def loss(s: Snapshot) -> Float[Array, ""]:
    """The loss on the probe batch."""
    responses = respond(s.network.filters(s.parameters), s.x)
    error = s.criterion(s.network.output(s.parameters, responses), s.target)
    return jnp.mean(error) + s.network.penalty(s.parameters, responses)


def accuracy(s: Snapshot) -> Float[Array, ""]:
    """The share of the probe batch whose class is told right: nearest label, or largest output."""
    if s.network.reconstructs:
        raise setting_error("train", "record", "accuracy", "used with a network that tells classes, not an autoencoder")
    prediction = s.network(s.parameters, s.x)
    if s.network.outputs > 1:
        return jnp.mean(jnp.argmax(prediction, axis=0) == s.classes, dtype=prediction.dtype)
    if s.labels is None:
        raise setting_error("train", "record", "accuracy", "used with labels that are numbers, one per class")
    labels = jnp.asarray(s.labels, prediction.dtype)
    told = jnp.argmin(jnp.abs(prediction[..., None] - labels), axis=-1)
    return jnp.mean(told == s.classes, dtype=prediction.dtype)


def gates(s: Snapshot) -> Float[Array, " filters"]:
    """For each filter, the share of the probe batch whose gate <w, x> >= 0 is as it was at the last record."""
    now, before = (respond(s.network.filters(p), s.x) >= 0 for p in (s.parameters, s.previous))
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
                raise setting_error(
                    "train", "record", name, f"called something else than {', '.join(sorted(RESERVED))}"
                )
            storable(str(name), np.zeros(()))
        return tuple((str(name), f if callable(f) else _named(str(f))) for name, f in record.items())
    if isinstance(record, str):
        record = (record,)
    return tuple((name, _named(name)) for name in record)


def _named(name: str) -> Callable[[Snapshot], Any]:
    refuse_unknown("record", name, RECORDS)
    return RECORDS[name]


class SaveAt(eqx.Module):
    """What is saved of a run beside its parameters, and when; the first and the last step always are.

    **every**: steps between two records; **steps**: the steps one by one; **logarithmic**: how many records, at steps
    that grow by a constant factor. One of the three; by default a hundredth of the run lies between two records.
    **record**: names ("loss", "accuracy", "gates"), or names with functions of a `Snapshot`. **probe**: how many
    samples the records are made on, the same at every record.
    """

    __repr__ = readable

    every: int | None = eqx.field(static=True)
    steps: tuple[int, ...] | None = eqx.field(static=True)
    logarithmic: int | None = eqx.field(static=True)
    record: tuple[tuple[str, Callable[[Snapshot], Any]], ...] = eqx.field(static=True)
    probe: int = eqx.field(static=True)

    def __init__(
        self,
        every: int | None = None,
        *,
        steps: Sequence[int] | np.ndarray | None = None,
        logarithmic: int | None = None,
        record: Record = ("loss",),
        probe: int = 2000,
    ):
        if sum(way is not None for way in (every, steps, logarithmic)) > 1:
            raise setting_error(SaveAt, "every, steps, logarithmic", "several of them", "one of the three, or none")
        self.every = None if every is None else whole("save_every", every)
        self.steps = None if steps is None else _step_list(steps)
        self.logarithmic = None if logarithmic is None else whole("logarithmic", logarithmic, 2)
        self.record, self.probe = chosen_records(record), whole("probe", probe)

    def spelt_out(self, steps: int) -> "SaveAt":
        """The same with its default said, for a run of so many **steps**: equal runs are described alike."""
        record = dict(self.record)
        if self.steps is not None and self.steps[-1] > steps:
            raise setting_error(SaveAt, "steps", self.steps[-1], f"at most the {steps} steps of the run")
        if self.steps is not None or self.logarithmic is not None:
            return self
        every = max(steps // 100, 1) if self.every is None else min(self.every, steps)
        return SaveAt(every, record=record, probe=self.probe)

    def most(self, steps: int) -> int:
        """How many records a run of so many **steps** has at most, without a list of them."""
        if self.steps is not None:
            return len(self.steps) + 2
        return 2 + (self.logarithmic or steps // (self.every or 1))

    def stops(self, steps: int) -> Int[np.ndarray, " records"]:
        """Which steps are recorded of a run of so many **steps**."""
        if self.steps is not None:
            between = np.array(self.steps)
        elif self.logarithmic is not None:
            between = np.geomspace(1, steps, self.logarithmic).round().astype(int)
        else:
            between = np.arange(0, steps, self.every)
        return np.unique(np.concatenate([[0], between, [steps]]))


def _step_list(steps: Any) -> tuple[int, ...]:
    array = np.asarray(steps)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        raise setting_error(SaveAt, "steps", steps, "whole numbers >= 0")
    return tuple(int(step) for step in np.unique(array))


def chosen_saveat(save_every: Any, saveat: Any) -> SaveAt:
    """What is saved when: an object, or steps between records as a shorthand for one."""
    if saveat is None:
        return SaveAt(save_every)
    if save_every is not None:
        raise setting_error("train", "save_every", save_every, "left out where saveat says when")
    if not isinstance(saveat, SaveAt):
        raise setting_error("train", "saveat", saveat, "a SaveAt, e.g. lx.SaveAt(steps=[10, 100])")
    return saveat
