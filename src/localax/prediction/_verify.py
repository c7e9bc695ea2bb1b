"""Networks trained by stochastic gradients, on the data and on fresh samples of a law, beside what the flow says.

Every network starts from a field and sees batches of its own. A batch is a stretch of each class at a random place of
an order that is drawn anew every few hundred steps: as noisy as single draws, and read at twenty times their speed.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .._progress import Update, silent
from .._types import Array, Float
from ..analysis import ipr, localized
from ..stimuli import AbstractStimulus, Task
from ._classes import Classes, Rows
from ._ends import Settings
from ._flow import BATCH, RATE, second_moment, stable_rate, starts

NETWORKS = 8
HALF = BATCH // 2
"""Samples of each class in a batch."""
SHUFFLED = 250
"""Steps after which samples get another order, or are drawn anew."""
FIRST_SEED = 1000
"""Of the networks' starts: none of the flow's."""

Pair = tuple[Rows, Rows]
Fields = Float[np.ndarray, "networks *pixels"]


def trained(
    classes: Classes, settings: Settings, networks: int = NETWORKS, progress: Update = silent
) -> tuple[np.ndarray, np.ndarray]:
    """The IPR of networks trained to the flow's horizon, and which are local."""
    fields, ndim = trained_fields(classes, settings, networks, progress), len(classes.shape)
    return np.asarray(ipr(fields, ndim=ndim)), np.asarray(localized(fields, ndim=ndim))


def trained_fields(classes: Classes, settings: Settings, networks: int = NETWORKS, progress: Update = silent) -> Fields:
    """Fields of networks trained on the data to the flow's horizon."""
    rng = np.random.default_rng([settings.seed, 4])
    rate = stable_rate((second_moment(classes.one) + second_moment(classes.zero)) / 2)

    def shuffled(_: int) -> Pair:
        return classes.one[rng.permutation(len(classes.one))], classes.zero[rng.permutation(len(classes.zero))]

    return _trained(shuffled, starts(classes.shape, networks, FIRST_SEED), rate, settings, progress)


def fresh_fields(task: Task, scale: float, settings: Settings, networks: int = NETWORKS) -> Fields:
    """Fields of networks that see fresh samples of a law, in units of a scale, each about once."""
    key = jax.random.fold_in(jax.random.key(settings.seed), 5)

    def drawn(first: int) -> Pair:
        zero, one = (
            _samples(law, jax.random.fold_in(jax.random.fold_in(key, first), i), scale)
            for i, law in enumerate(task.stimuli)
        )
        return one, zero

    return _trained(drawn, starts(task.shape, networks, FIRST_SEED), RATE, settings)


def _samples(law: AbstractStimulus, key: Array, scale: float) -> Rows:
    return np.asarray(law.sample(key, SHUFFLED * HALF)).reshape(SHUFFLED * HALF, -1) / np.float32(scale)


def _trained(
    samples: Callable[[int], Pair], w0: Fields, rate: float, settings: Settings, progress: Update = silent
) -> Fields:
    """Networks from ``w0``; ``samples`` are asked for again and again, from which step on."""
    rng = np.random.default_rng([settings.seed, 6])
    w, steps = jnp.asarray(w0.reshape(len(w0), -1)), max(1, round(settings.horizon / rate))
    for first in range(0, steps, SHUFFLED):
        pair = samples(first)
        places = rng.integers([len(x) for x in pair], size=(SHUFFLED, len(w0), 2))
        rings = (np.concatenate([x, x[: min(HALF, len(x)) - 1]]) for x in pair)  # a stretch may begin anywhere
        w = _steps(w, *rings, jnp.asarray(places, jnp.int32), min(SHUFFLED, steps - first), jnp.float32(rate))
        progress(min(1.0, (first + SHUFFLED) / steps))
    return np.asarray(w).reshape(w0.shape)


@jax.jit
def _steps(w: Array, one: Array, zero: Array, places: Array, count: Array, rate: Array) -> Array:
    def update(w: Array, place: Array) -> Array:
        x, y = (_stretch(rows, place[c]) for c, rows in enumerate((one, zero)))
        p, q = x @ w, y @ w
        return w + rate * (jnp.where(p > 0, 1 - p, 0) @ x / len(x) - jnp.maximum(q, 0) @ y / len(y))

    return jax.lax.fori_loop(0, count, lambda i, w: jax.vmap(update)(w, places[i]), w)


def _stretch(rows: Array, place: Array) -> Array:
    return jax.lax.dynamic_slice_in_dim(rows, place, min(HALF, (len(rows) + 1) // 2))
