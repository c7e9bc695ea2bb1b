"""Where batches come from: fresh samples every step, or shuffled epochs of a fixed data set.

A batch depends on the stream's key and the number of the step alone, so a run can stop anywhere and go on with the
same data, and a seed sees the same data whoever trains beside it.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import wrong
from .._types import Array, Int, Key, Samples
from ..stimuli import Empirical, Task

Order = tuple[Int[Array, "..."] | None, ...]
"""For each class, the order in which a fixed data set is read in this epoch."""


class Stream(eqx.Module):
    """How a task is turned into batches."""

    batch: int = eqx.field(static=True)
    stratified: bool = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)

    def check(self, task: Task) -> None:
        """Refuse batches that the task cannot give."""
        if not self.stratified:
            return
        for stimulus, count in zip(task.stimuli, task.counts(self.batch), strict=True):
            if isinstance(stimulus, Empirical) and count > stimulus.samples.shape[0]:
                limit = f"at most the data set, {stimulus.samples.shape[0]} samples of that class"
                raise wrong("train", "batch", f"{count} of one class", limit)

    def start(self, task: Task, key: Key, step: int) -> Order:
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
            x, classes = task.draw(jax.random.fold_in(key, step), self.batch, self.stratified, self.dtype)
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


def stream_keys(data_seed: int, stream: str | int, seeds: np.ndarray) -> Array:
    """One key per stream: one for all seeds, one for each seed, or a given number shared out in order."""
    base = jax.random.key(data_seed)
    if stream == "shared":
        return base[None]
    if stream == "independent":
        return jax.vmap(lambda seed: jax.random.fold_in(jax.random.fold_in(base, 1), seed))(jnp.asarray(seeds))
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 1 and len(seeds) % stream == 0:
        return jax.vmap(lambda i: jax.random.fold_in(base, i))(jnp.arange(stream)) if stream > 1 else base[None]
    raise wrong("train", "stream", stream, f"'shared', 'independent' or a number that divides the {len(seeds)} seeds")
