"""The gradient flow of a ReLU neuron on the samples themselves, from many starts at once: no rate, batches or noise.

With p_c = X_c w, dw/dt = X_1'[1(p_1 > 0)(1 - p_1)]/n_1 - X_0' relu(p_0)/n_0, the gradient of mean((y - ReLU)^2) with
classes of equal share. Its linear part is -M w, M = (S_0 + S_1)/2, up to what is not sign-symmetric; an exponential
integrator takes that exactly, so that steps may grow to far beyond 1/M, where each becomes a fixed-point iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Array, Float
from ..networks import Xavier, seed_keys
from ._classes import Classes, Rows

HORIZON = 400.0
FIRST, GROWTH, LONGEST = 0.05, 1.25, 20.0
"""The first step, the factor from one to the next, and the longest: 43 steps to time 400."""
RIDGE = 1e-5
"""Added to second moments, in units of a pixel's: fewer samples than pixels leave directions without any."""
CHUNK = 2048
"""Samples that are worked on at once; their responses stay in the cache."""

Columns = Float[Array, "pixels starts"]


@dataclass(frozen=True, eq=False)
class Padded:
    """Two classes filled up with zeros to whole chunks, which add nothing: one program for any part of the data."""

    one: Array
    zero: Array


def padded(classes: Classes) -> Padded:
    """The samples where JAX has them."""
    return Padded(*(jnp.asarray(np.pad(x, ((0, -len(x) % CHUNK), (0, 0)))) for x in (classes.one, classes.zero)))


def starts(shape: tuple[int, ...], count: int) -> Float[np.ndarray, "starts *pixels"]:
    """The fields from which networks start by default, of seeds 0, 1, 2, ..."""
    return np.asarray(Xavier(1e-3).weights(seed_keys(range(count)), 1, shape, jnp.float32))[:, 0]


def second_moment(x: Rows) -> Float[np.ndarray, "pixels pixels"]:
    """X'X/n, with a little on its diagonal."""
    s = np.asarray(x.T @ x, float) / len(x)
    return s + RIDGE * np.trace(s) / len(s) * np.eye(len(s))


def steps(horizon: float) -> Float[np.ndarray, " steps"]:
    """The lengths of the steps that lead to the horizon."""
    out, time = [], 0.0
    while time < horizon * (1 - 1e-9):
        out.append(min(FIRST * GROWTH ** len(out), LONGEST, horizon - time))
        time += out[-1]
    return np.array(out)


def follow(
    data: Padded, counts: tuple[int, int], moment: Float[np.ndarray, "pixels pixels"], w0: Float[np.ndarray, "s ..."],
    horizon: float,
) -> Float[np.ndarray, "s ..."]:  # fmt: skip
    """Fields at the horizon, from ``w0``, on the first ``counts`` samples of the classes, whose M is ``moment``."""
    l, basis = np.linalg.eigh(moment)
    l = np.maximum(l, 1e-12)
    decay = -np.outer(steps(horizon), l)
    gain = -np.expm1(decay) / l
    columns = w0.reshape(len(w0), -1).T
    pieces = (jnp.asarray(a, jnp.float32) for a in (columns, moment, basis, np.exp(decay), gain))
    out = _follow(data.one, data.zero, jnp.asarray(counts, jnp.int32), *pieces)
    return np.asarray(out).T.reshape(w0.shape)


@jax.jit
def _follow(
    one: Array, zero: Array, counts: Array, w: Columns, moment: Array, basis: Array, decays: Array, gains: Array
) -> Columns:
    def step(w: Columns, factors: tuple[Array, Array]) -> tuple[Columns, None]:
        drive = _mean(one, counts[0], w, lambda p: 1 - p) + _mean(zero, counts[1], w, jnp.negative) + moment @ w
        decay, gain = (factor[:, None] for factor in factors)
        return basis @ (decay * (basis.T @ w) + gain * (basis.T @ drive)), None

    return jax.lax.scan(step, w, (decays, gains))[0]


def _mean(x: Array, count: Array, w: Columns, error: Callable[[Array], Array]) -> Columns:
    """The mean of 1(p > 0) error(p) x over the first so many samples."""

    def add(i: Array, total: Columns) -> Columns:
        rows = jax.lax.dynamic_slice_in_dim(x, i * CHUNK, CHUNK)
        p = rows @ w
        counted = i * CHUNK + jnp.arange(CHUNK)[:, None] < count
        return total + jnp.einsum("np,ns->ps", rows, jnp.where(counted & (p > 0), error(p), 0))

    return jax.lax.fori_loop(0, (count + CHUNK - 1) // CHUNK, add, jnp.zeros_like(w)) / count
