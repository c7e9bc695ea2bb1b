"""Networks trained on the data by stochastic gradients, beside what the flow says.

Every network starts from a field and sees batches of its own. A batch is a stretch of each class at a random place of
an order that is drawn anew every few hundred steps: as noisy as single draws, and read at twenty times their speed.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Array, Float
from ..analysis import ipr, localized
from ._classes import Classes, Rows
from ._ends import Settings
from ._flow import BATCH, second_moment, stable_rate, starts

NETWORKS = 8
SHUFFLED = 250
"""Steps after which samples get another order."""
FIRST_SEED = 1000
"""Of the networks' starts: none of the flow's."""


def trained(classes: Classes, settings: Settings, networks: int = NETWORKS) -> tuple[np.ndarray, np.ndarray]:
    """The IPR of networks trained to the flow's horizon, and which are local."""
    fields, ndim = trained_fields(classes, settings, networks), len(classes.shape)
    return np.asarray(ipr(fields, ndim=ndim)), np.asarray(localized(fields, ndim=ndim))


def trained_fields(
    classes: Classes, settings: Settings, networks: int = NETWORKS
) -> Float[np.ndarray, "networks *pixels"]:
    """Fields of networks trained to the flow's horizon."""
    rng = np.random.default_rng([settings.seed, 4])
    w0 = starts(classes.shape, networks, FIRST_SEED)
    w = jnp.asarray(w0.reshape(networks, -1))
    rate = stable_rate((second_moment(classes.one) + second_moment(classes.zero)) / 2)
    steps = max(1, round(settings.horizon / rate))
    for first in range(0, steps, SHUFFLED):
        orders = [_shuffled(x, rng) for x in (classes.one, classes.zero)]
        places = rng.integers([[[len(classes.one), len(classes.zero)]]], size=(SHUFFLED, networks, 2))
        w = _steps(w, *orders, jnp.asarray(places, jnp.int32), min(SHUFFLED, steps - first), jnp.float32(rate))
    return np.asarray(w).reshape(w0.shape)


def _shuffled(x: Rows, rng: np.random.Generator) -> Rows:
    """Samples in another order, closed to a ring, so that a stretch may begin at any of them."""
    order = rng.permutation(len(x))
    return x[np.concatenate([order, order[: min(BATCH // 2, len(x)) - 1]])]


@jax.jit
def _steps(w: Array, one: Array, zero: Array, places: Array, count: Array, rate: Array) -> Array:
    def step(i: Array, w: Array) -> Array:
        return jax.vmap(update)(w, places[i])

    def update(w: Array, place: Array) -> Array:
        x, y = (_stretch(rows, place[c]) for c, rows in enumerate((one, zero)))
        p, q = x @ w, y @ w
        return w + rate * (jnp.where(p > 0, 1 - p, 0) @ x / len(x) - jnp.maximum(q, 0) @ y / len(y))

    return jax.lax.fori_loop(0, count, step, w)


def _stretch(rows: Array, place: Array) -> Array:
    return jax.lax.dynamic_slice_in_dim(rows, place, min(BATCH // 2, (len(rows) + 1) // 2))
