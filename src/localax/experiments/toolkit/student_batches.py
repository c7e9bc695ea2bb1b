"""SGD of one ReLU neuron on a Student t with 3 degrees of freedom, in plain batches whose pixels are never drawn.

A sample is x = m A z: z normal, A^2 its covariance, m = q^(-1/2), q chi-square with 3 degrees. With v = A w its
response is m |v| t, t = <v, z>/|v|, and what z has across v is normal, whatever t and q are. So the gradient of a batch
of B is, with a = 1(t > 0) (m |v| t - y) m and e normal across v, both by class,

    2/B sum over classes of A [v/|v| sum a t + (sum a^2)^(1/2) e],

in which the samples appear through five sums that do not ask for w: those of m^2 t^2, m t, m^4 t^2, m^3 t and m^2 over
t > 0. Drawing the sums in place of 40 pixels a sample gives weights of the same law, at a thousandth of the work.
"""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ...stimuli import Task
from ...trajectory import Trajectory

POWERS = ((2, 2), (1, 1), (2, 4), (1, 3), (0, 2))
"""Powers of t and of m in the five sums."""
ONE_BY_ONE = 1000
"""Samples up to which all are drawn; of more than that, the largest."""
LARGEST = 100
"""How many of a class are drawn, on average, where not all are; the sums over the others are nearly normal."""
AT_ONCE = 1_000_000
"""Samples to draw at a time."""


def student_sgd(
    task: Task, start: np.ndarray, *, steps: int, batch: int, rate: float, seed: int, every: int
) -> Trajectory:
    """Train from weights (run, pixel), every run on data of its own; weights are recorded every so many steps.

    The classes of the task, in equal shares, are `Elliptical` with the radius of a Student t of 3 degrees of freedom.
    """
    rng, runs, classes = np.random.default_rng(seed), len(start), len(task.stimuli)
    sums = batch_sums(rng, steps * runs * classes, batch // classes).reshape(steps, runs, classes, 5)
    roots = np.stack([np.real(scipy.linalg.sqrtm(stimulus.covariance_matrix())) for stimulus in task.stimuli])
    path = _path(jnp.asarray(start), sums / batch, roots, np.asarray(task.labels, float), rate, batch, seed)
    stops = np.union1d(np.arange(0, steps, every), [steps])
    return Trajectory(time=stops * rate, weights=np.asarray(path)[stops].swapaxes(0, 1)[:, :, None])


@jax.jit
def _path(start: Any, means: Any, roots: Any, labels: Any, rate: Any, batch: Any, seed: Any) -> Any:
    """Weights before every step and after the last, (step, run, pixel)."""
    key = jax.random.key(seed)

    def step(w: Any, slot: Any) -> Any:
        i, drawn = slot
        noise = jax.random.normal(jax.random.fold_in(key, i), (*drawn.shape[:2], w.shape[-1]), w.dtype)
        w = w - rate * _gradient(w, drawn, roots, labels, batch, noise)
        return w, w

    _, after = jax.lax.scan(step, start, (jnp.arange(len(means)), means))
    return jnp.concatenate([start[None], after])


def _gradient(w: Any, means: Any, roots: Any, labels: Any, batch: Any, noise: Any) -> Any:
    """Of the batch loss at weights (run, pixel), from sums over the batch size (run, class, 5)."""
    v = jnp.einsum("cij,rj->rci", roots, w)
    size = jnp.linalg.norm(v, axis=-1)
    n = v / size[..., None]
    first, second, third, fourth, fifth = jnp.moveaxis(means, -1, 0)
    along = size * first - labels * second
    across = jnp.sqrt((size**2 * third - 2 * labels * size * fourth + labels**2 * fifth) / batch)
    e = noise - n * jnp.sum(noise * n, -1, keepdims=True)
    return 2 * jnp.einsum("cij,rcj->ri", roots, along[..., None] * n + across[..., None] * e)


# Sums over a batch ---------------------------------------------------------------------------------------------------


def batch_sums(rng: np.random.Generator, batches: int, samples: int) -> np.ndarray:
    """The five sums over one class of a batch, (batch, 5).

    Of large batches the samples of largest m are drawn one by one, and the sums over the others, which have all
    moments, as a normal vector of the right mean and covariance.
    """
    share = 1.0 if samples <= ONE_BY_ONE else LARGEST / samples
    if share == 1.0:
        return _drawn(rng, rng.binomial(samples, 0.5, batches), lambda n: _chi_square(rng, n))
    large = rng.binomial(samples, share / 2, batches)
    small = rng.binomial(samples - large, (1 - share) / (2 - share))
    return _drawn(rng, large, lambda n: _lowest(rng, n, share)) + _normal(rng, small, share)


def _drawn(rng: np.random.Generator, counts: np.ndarray, draw_q: Any) -> np.ndarray:
    """Sums over so many samples each, drawn a piece at a time."""
    pieces = np.array_split(counts, max(int(counts.sum()) // AT_ONCE, 1))
    return np.concatenate([_piece(rng, piece, draw_q) for piece in pieces])


def _piece(rng: np.random.Generator, counts: np.ndarray, draw_q: Any) -> np.ndarray:
    total = int(counts.sum())
    t, m2 = np.abs(rng.standard_normal(total)), 1 / draw_q(total)
    mt = np.sqrt(m2) * t
    terms = (mt**2, mt, m2 * mt**2, m2 * mt, m2)
    ends = np.cumsum(counts)
    return np.stack([np.diff(np.cumsum(np.append(0.0, term))[np.append(0, ends)]) for term in terms], axis=-1)


def _chi_square(rng: np.random.Generator, n: int) -> np.ndarray:
    return 2 * rng.standard_exponential(n) + rng.standard_normal(n) ** 2


def _lowest(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """q below its quantile ``share``; q^(3/2) is nearly linear in its distribution function there."""
    grid, powers = _table(share)
    return np.cbrt(np.interp(rng.random(n) * share, grid, powers)) ** 2


@cache
def _table(share: float) -> tuple[np.ndarray, np.ndarray]:
    grid = np.linspace(0, share, 20_001)
    return grid, (2 * scipy.special.gammaincinv(1.5, grid)) ** 1.5


def _normal(rng: np.random.Generator, counts: np.ndarray, share: float) -> np.ndarray:
    mean, root = _rest(share)
    noise = rng.standard_normal((len(counts), len(mean))) @ root.T
    return counts[:, None] * mean + np.sqrt(counts)[:, None] * noise


@cache
def _rest(share: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the terms of one sample whose q lies above its quantile ``share``, and a root of their covariance."""
    least = 2 * scipy.special.gammaincinv(1.5, share)
    moment = partial(_moment, least=least)
    mean = np.array([moment(*powers) for powers in POWERS])
    second = [[moment(a + c, b + d) for c, d in POWERS] for a, b in POWERS]
    return mean, np.linalg.cholesky(np.array(second) - np.outer(mean, mean))


def _moment(of_t: int, of_m: int, *, least: float) -> float:
    """E[t^i m^j] for t > 0 and q above ``least``."""
    normal = 2 ** (of_t / 2) * scipy.special.gamma((of_t + 1) / 2) / np.sqrt(np.pi)
    power, share = np.array([1 - of_m, 1]) / 2, []
    for p in power:  # the density of q goes as q^(1/2) e^(-q/2)
        share.append(scipy.integrate.quad(lambda q, p=p: q**p * np.exp(-q / 2), least, np.inf)[0])
    return float(normal * share[0] / share[1])
