"""The gradient flow of a ReLU neuron on the samples themselves, from many starts at once: what batches do on average.

With p_c = X_c w, dw/dt = X_1'[1(p_1 > 0)(1 - p_1)]/n_1 - X_0' relu(p_0)/n_0, the gradient of mean((y - ReLU)^2) with
classes of equal share. Its linear part is -M w, M = (S_0 + S_1)/2, up to what is not sign-symmetric; an exponential
integrator takes that exactly, so that steps may grow to beyond 1/M. But a drive that is held for a step of t carries
a slow mode on for (1 - exp(-l t))/l only, l its eigenvalue of M, not for t: after two steps, by which fast modes have
come to rest, every mode that moves on in one direction is sent ahead by the time that it has lost, at most CATCH_UP
times its last move, which keeps modes that decay stable.

A network does not stand still: batches of B samples at rate h shake its weights about their mean, whose flow sees gates
that are blurred. If the error of a response does not depend on which sample it is, batches add noise of covariance
(2 e/B) M a unit of time and rate, e = E_1[1(p > 0)(1 - p)^2] + E_0[relu(p)^2], and M holds it at a variance of h e/B in
every direction, to which it grows as 1 - exp(-2 l t), l = tr M/N: a response p has the deviation s = |x| sqrt(h e/B).
Its gate is Phi(p/s), and 1(p > 0)(y - p) becomes (y - p) Phi(p/s) - s phi(p/s). On few samples that matters: the sharp
landscape has traps that no network ends in.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._math import LASTING
from .._types import Array, Float
from ..networks import Xavier, seed_keys
from ..spec import Number
from ._classes import Classes, Rows

HORIZON = 400.0
RATE, BATCH = 0.05, 500
"""Of the networks whose mean is followed."""
FIRST, GROWTH, LONGEST = 0.05, 1.25, 4.0
"""The first two steps, the factor from two to the next, and the longest: 132 evaluations to time 400. Beside 1,605 of
steps of 1/4 with nothing to catch up, at most one of 32 starts ended on the other side of the rule for "localized" on
eight data sets, three of them near the threshold, and the IPR of nine starts in ten was within 11% on all but pulses
(28%) and pixels with a mean of three deviations (44%, far from local). Near the threshold, steps of up to 20 alone lose
a third of the local ends, and a scheme of second order needs two and a half times the evaluations."""
CATCH_UP = 3.0
"""Moves that a mode is sent ahead at most: one that shrinks to r in a step has r (r - 3 (1 - r)) after two, > -0.57."""
RIDGE = 1e-5
"""Added to second moments, in units of a pixel's: fewer samples than pixels leave directions without any."""
CHUNK = 2048
"""Samples that are worked on at once; their responses stay in the cache."""

TINY = 1e-9
"""The least spread of a response."""

Columns = Float[Array, "pixels starts"]
State = tuple[Columns, Array]


@dataclass(frozen=True, eq=False)
class Padded:
    """Two classes filled up with zeros to whole chunks, which add nothing: one program for any part of the data."""

    one: Array
    zero: Array


def padded(classes: Classes) -> Padded:
    """The samples where JAX has them."""
    return Padded(*(jnp.asarray(np.pad(x, ((0, -len(x) % CHUNK), (0, 0)))) for x in (classes.one, classes.zero)))


def starts(shape: tuple[int, ...], count: int, first: int = 0) -> Float[np.ndarray, "starts *pixels"]:
    """The fields from which networks start by default, of seeds first, first + 1, ..."""
    return np.asarray(Xavier(1e-3).weights(seed_keys(range(first, first + count)), 1, shape, jnp.float32))[:, 0]


def second_moment(x: Rows) -> Float[np.ndarray, "pixels pixels"]:
    """X'X/n, with a little on its diagonal."""
    s = np.asarray(x.T @ x, float) / len(x)
    return s + RIDGE * np.trace(s) / len(s) * np.eye(len(s))


def steps(horizon: float) -> Float[np.ndarray, " cycles"]:
    """The lengths of steps that lead to the horizon, each of them taken twice."""
    out, time = [], 0.0
    while time < horizon * (1 - 1e-9):
        out.append(min(FIRST * GROWTH ** len(out), LONGEST, (horizon - time) / 2))
        time += 2 * out[-1]
    return np.array(out)


def follow(
    data: Padded, counts: tuple[int, int], moment: Float[np.ndarray, "pixels pixels"], w0: Float[np.ndarray, "s ..."],
    horizon: float, batch: Number = BATCH,
) -> Float[np.ndarray, "s ..."]:  # fmt: skip
    """Fields at the horizon, from ``w0``, on the first ``counts`` samples of the classes, whose M is ``moment``."""
    l, basis = np.linalg.eigh(moment)
    l, time = np.maximum(l, 1e-12), steps(horizon)[:, None]
    gain = -np.expm1(-time * l) / l
    ahead = np.minimum(CATCH_UP, 2 * (time - gain) / gain)
    ahead[-1] = 0
    modes = basis.T @ w0.reshape(len(w0), -1).T
    pieces = (jnp.asarray(a, jnp.float32) for a in (modes, basis, l, np.exp(-time * l), gain, ahead))
    out = _follow(data.one, data.zero, jnp.asarray(counts, jnp.int32), *pieces, _noise(time, moment, batch))
    return (basis @ np.asarray(out, float)).T.reshape(w0.shape).astype(w0.dtype)


def stable_rate(moment: Float[np.ndarray, "pixels pixels"]) -> float:
    """The rate of networks: half of what is stable, where that is less than usual."""
    return min(RATE, 1 / float(np.linalg.eigvalsh(moment)[-1]))


def _noise(time: np.ndarray, moment: Float[np.ndarray, "pixels pixels"], batch: Number) -> Array:
    """What batches have added to the variance of a weight before each step, in units of the mean square error."""
    begun = np.cumsum(np.repeat(time, 2)) - np.repeat(time, 2)
    grown = -np.expm1(-2 * begun * np.trace(moment) / len(moment))
    return jnp.asarray(stable_rate(moment) / batch * grown.reshape(-1, 2), jnp.float32)


@functools.partial(jax.jit, compiler_options=LASTING)
def _follow(
    one: Array, zero: Array, counts: Array, modes: Columns, basis: Array, l: Array, decays: Array, gains: Array,
    aheads: Array, noises: Array,
) -> Columns:  # fmt: skip
    def driven(u: Columns, noise: Array) -> State:
        """The drive G(w) + M w, by modes, and the mean square error of responses."""
        w = basis @ u
        (a, e), (b, f) = (_mean(x, counts[c], w, 1.0 - c, noise) for c, x in enumerate((one, zero)))
        return basis.T @ (a + b) + l[:, None] * u, e + f

    def cycle(state: State, factors: tuple[Array, ...]) -> tuple[State, None]:
        decay, gain, ahead = (factor[:, None] for factor in factors[:3])
        noise = factors[3]
        drive, error = driven(state[0], noise[0] * state[1])
        first = decay * state[0] + gain * drive
        drive, error = driven(first, noise[1] * error)
        second = decay * first + gain * drive
        onward = (second - first) * (first - state[0]) > 0
        return (second + jnp.where(onward, ahead * (second - first), 0), error), None

    start = (modes, jnp.zeros(modes.shape[1]))
    return jax.lax.scan(cycle, start, (decays, gains, aheads, noises))[0][0]


def _mean(x: Array, count: Array, w: Columns, label: float, noise: Array) -> tuple[Columns, Array]:
    """Over the first so many samples: the mean of gated error times x, and of the gated error's square."""

    def add(i: Array, total: tuple[Columns, Array]) -> tuple[Columns, Array]:
        rows = jax.lax.dynamic_slice_in_dim(x, i * CHUNK, CHUNK)
        counted = i * CHUNK + jnp.arange(CHUNK)[:, None] < count
        spread = jnp.sqrt(noise * jnp.sum(rows**2, axis=1, keepdims=True)) + TINY
        error = jnp.where(counted, _blurred(rows @ w, spread, label), 0)
        return total[0] + jnp.einsum("np,ns->ps", rows, error), total[1] + jnp.sum(error**2, axis=0)

    nothing = (jnp.zeros_like(w), jnp.zeros(w.shape[1]))
    drive, square = jax.lax.fori_loop(0, (count + CHUNK - 1) // CHUNK, add, nothing)
    return drive / count, square / count


def _blurred(p: Array, spread: Array, label: float) -> Array:
    """The mean of 1(p > 0)(label - p) where p has this spread."""
    z = p / spread
    return (label - p) * jax.scipy.stats.norm.cdf(z) - spread * jax.scipy.stats.norm.pdf(z)
