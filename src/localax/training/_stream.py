"""Where batches come from: fresh samples every step, or shuffled epochs of a fixed data set.

A batch depends on the stream's key and the number of the step alone, so a run can stop anywhere and go on with the
same data, and a seed sees the same data whoever trains beside it.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._errors import setting_error
from .._types import Array, Int, Key, Samples
from ..stimuli import Empirical, Task
from ._arguments import truth

Order = tuple[Int[Array, "..."] | None, ...]
"""For each class, the order in which a fixed data set is read in this epoch."""


class Stream(eqx.Module):
    """Who sees which data.

    **sharing**: "shared" (all seeds see the same batches), "independent" (each seed has batches of its own; from one
    start they differ by their data alone), or a number of streams that the seeds share out in order.
    **stratified**: whether every batch has the classes in their exact proportions. **common**: whether the classes of
    a batch are made from the same random numbers, so that they differ by their laws alone.
    """

    sharing: str | int = eqx.field(static=True)
    stratified: bool = eqx.field(static=True)
    common: bool = eqx.field(static=True)

    def __init__(self, sharing: str | int = "shared", *, stratified: bool = True, common: bool = False):
        self.sharing = "shared" if sharing == 1 and not isinstance(sharing, bool) else sharing
        self.stratified, self.common = truth("stratified", stratified), truth("common", common)


def chosen_stream(stream: Any) -> Stream:
    """A stream, or how it is shared as a shorthand for one."""
    return stream if isinstance(stream, Stream) else Stream(stream)


class Batches(eqx.Module):
    """How a task is turned into batches."""

    batch: int = eqx.field(static=True)
    stream: Stream = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)

    @property
    def stratified(self) -> bool:
        return self.stream.stratified

    def draw(self, task: Task, key: Key, n: int) -> tuple[Samples, Int[Array, " n"]]:
        """Fresh samples with their classes."""
        return task.draw(key, n, self.stratified, self.dtype, self.stream.common)

    def check(self, task: Task) -> None:
        """Refuse batches that the task cannot give."""
        if not self.stratified:
            return
        for stimulus, count in zip(task.stimuli, task.counts(self.batch), strict=True):
            if isinstance(stimulus, Empirical) and count > stimulus.samples.shape[0]:
                limit = f"at most the data set, {stimulus.samples.shape[0]} samples of that class"
                raise setting_error("train", "batch", f"{count} of one class", limit)

    def start(self, task: Task, key: Key, step: Any) -> Order:
        """The order of each fixed data set in the epoch that a step belongs to."""
        if not self.stratified:
            return (None,) * len(task.stimuli)
        keys = jax.random.split(key, len(task.stimuli))
        parts = zip(task.stimuli, task.counts(self.batch), keys, strict=True)
        return tuple(
            _order(k, step // (s.samples.shape[0] // count), s.samples.shape[0]) if isinstance(s, Empirical) else None
            for s, count, k in parts
        )

    def next(self, task: Task, order: Order, key: Key, step: Int[Array, ""]) -> tuple[Samples, Int[Array, " n"], Order]:
        """The batch of a step, its classes, and the order to keep."""
        if all(entry is None for entry in order):
            x, classes = self.draw(task, jax.random.fold_in(key, step), self.batch)
            return x, classes, order
        return self._from_epochs(task, order, key, step)

    def _from_epochs(self, task: Task, order: Order, key: Key, step: Int[Array, ""]):
        keys = jax.random.split(key, len(order))
        parts, orders = [], []
        for stimulus, count, entry, k in zip(task.stimuli, task.counts(self.batch), order, keys, strict=True):
            if entry is not None and isinstance(stimulus, Empirical):
                entry, rows = _rows(entry, count, k, step)
                parts.append(jnp.asarray(stimulus.samples)[rows].astype(self.dtype))
            else:
                parts.append(stimulus.sample(jax.random.fold_in(k, step), count, dtype=self.dtype))
            orders.append(entry)
        return jnp.concatenate(parts), task.classes(self.batch), tuple(orders)


def with_data_sets(task: Task) -> Task:
    """The task with every stimulus that is a finite data set laid open, so that it is read in epochs."""
    found = [(stimulus, stimulus.dataset()) for stimulus in task.stimuli]
    return eqx.tree_at(lambda t: t.stimuli, task, tuple(s if data is None else Empirical(data) for s, data in found))


def _order(key: Key, epoch: Any, rows: int) -> Int[Array, " n"]:
    return jax.random.permutation(jax.random.fold_in(key, epoch), rows).astype(jnp.int32)


def _rows(
    order: Int[Array, " n"], count: int, key: Key, step: Int[Array, ""]
) -> tuple[Int[Array, " n"], Int[Array, " c"]]:
    """The rows of a data set that a step reads; a new order at the start of every epoch, the remainder left out."""
    each = order.shape[0] // count
    epoch, place = step // each, step % each
    order = jax.lax.cond(place == 0, lambda: _order(key, epoch, order.shape[0]), lambda: order)
    return order, jax.lax.dynamic_slice(order, (place * count,), (count,))
