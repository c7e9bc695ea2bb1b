"""One pixel's law as numbers: magnitudes and weights for expectations of even functions, and moments.

The amplifier is E[X erf(X t)], an even function of X, so only the law of |X - mean| counts. Every law is brought to
variance 1; its own standard deviation is kept beside it.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, special

from .._math import normal_nodes
from .._settings import Number, wrong
from .._types import Float
from ..stimuli import AbstractMarginal, AbstractNormalMap, Bernoulli, Empirical, Normal
from ..stimuli._derived import GaussianPixel
from ..stimuli._elliptical import EllipticalMarginal
from ..stimuli._marginals import Weighted

Numbers = Float[np.ndarray, " nodes"]
BINS = 64
"""Bins per e-fold of |x| into which many values are gathered."""
MANY = 4096
"""More values than this are gathered into bins."""


class Law(eqx.Module):
    """|X - mean| in units of the standard deviation, as nodes and weights, with E|X|, E X^4 and E X^6 in that unit."""

    magnitude: Numbers
    weight: Numbers
    scale: float
    first: float
    fourth: float
    sixth: float

    def amplify(self, t: Float[np.ndarray, " any"]) -> tuple[np.ndarray, np.ndarray]:
        """F = E[X erf(X t/sqrt 2)] and dF/dt = sqrt(2/pi) E[X^2 exp(-X^2 t^2/2)] in units of the scale, by numpy."""
        value, change = np.empty(t.shape), np.empty(t.shape)
        for part in np.array_split(np.arange(t.size), 1 + t.size * self.magnitude.size // 200_000):
            xt = np.multiply.outer(t[part], self.magnitude)
            value[part] = special.erf(xt * math.sqrt(0.5)) @ (self.weight * self.magnitude)
            change[part] = np.exp(-(xt**2) / 2) @ (self.weight * self.magnitude**2)
        return value, math.sqrt(2 / math.pi) * change


def law_of(marginal: AbstractMarginal) -> Law:
    """The nodes and moments of a marginal; exact for atoms, by quadrature otherwise."""
    if isinstance(marginal, AbstractNormalMap) and not isinstance(marginal, Bernoulli):
        return _from_normal_map(marginal)
    atoms = marginal.atoms()
    if atoms is not None:
        return law_of_values(*atoms)
    if isinstance(marginal, Weighted):
        return law_of_values(np.asarray(marginal.values), np.asarray(marginal.weights))
    if isinstance(marginal, GaussianPixel):
        return _from_gaussians(marginal)
    if isinstance(marginal, EllipticalMarginal):
        return _from_ellipse(marginal)
    raise wrong("amplifier", "marginal", type(marginal).__name__, "a marginal with atoms or a map from a normal")


def root(function: Callable[[float], float], low: Number, high: Number) -> float:
    """Where a function changes its sign, by Brent's method."""
    found: Any = optimize.brentq(function, low, high, xtol=1e-12)
    return float(found)


def is_gaussian(marginal: AbstractMarginal) -> bool:
    """Whether the law is a normal one, of any variance."""
    if isinstance(marginal, GaussianPixel):
        return bool(np.ptp(marginal.power) <= 1e-12 * np.max(marginal.power) and np.ptp(marginal.location) == 0)
    return isinstance(marginal, Normal)


def law_of_values(values: np.ndarray, weights: np.ndarray) -> Law:
    """The law of finitely many values; all of them if they are few, else gathered into bins with error < 1e-9."""
    weights = np.asarray(weights, float) / np.sum(weights)
    centred = np.asarray(values, float) - np.sum(weights * values)
    scale = math.sqrt(np.sum(weights * centred**2))
    if not scale > 0:
        raise wrong("amplifier", "marginal", "a constant", "a law with a positive variance")
    magnitude = np.abs(centred) / scale
    first, fourth, sixth = (float(np.sum(weights * magnitude**p)) for p in (1, 4, 6))
    if magnitude.size > MANY:
        magnitude, weights = gathered(magnitude, weights)
    return Law(magnitude, weights, scale, first, fourth, sixth)


def gathered(magnitude: Numbers, weight: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Two nodes for every bin of log |x|, with the bin's moments 0 to 3: a Gauss rule for the values in it.

    x erf(x t), as a function of log x, has a fourth derivative below 6.93 x whatever t is, so that the error of phi
    is at most 6.93/4! (h^2/8)^2 E|X| = 2.7e-10 E|X| for bins of width h.
    """
    positive = (magnitude > 0) & (weight > 0)
    logs, weight = np.log(magnitude[positive]), weight[positive]
    index = np.floor(logs * BINS).astype(int)
    low = index.min()
    offset = logs - (index + 0.5) / BINS
    m0, m1, m2, m3 = (np.bincount(index - low, weight * offset**p) for p in range(4))
    used = m0 > 0
    m0, centre = m0[used], ((np.arange(m0.size) + low + 0.5) / BINS)[used]
    mean, second, third = m1[used] / m0, m2[used] / m0, m3[used] / m0
    spread = np.maximum(second - mean**2, 0)
    lean = (third - 3 * mean * spread - mean**3) / np.where(spread < 1e-13, np.inf, spread)
    half = np.sqrt(lean**2 / 4 + np.where(spread < 1e-13, 0, spread))
    share = np.where(half > 0, 0.5 - lean / (4 * np.where(half > 0, half, 1)), 1.0)
    nodes = np.concatenate([centre + mean + lean / 2 + half, centre + mean + lean / 2 - half])
    weights = np.concatenate([m0 * share, m0 * (1 - share)])
    kept = weights > 0
    return np.exp(nodes[kept]), weights[kept]


def groups_of(source: Weighted | Empirical, count: int = 20) -> tuple[Law, ...]:
    """The laws with one of ``count`` groups left out, for the jackknife: whole samples, or values in random order."""
    if isinstance(source, Empirical):
        values, weights = np.asarray(source.samples, float), np.ones(source.samples.shape)
    else:
        values, weights = np.asarray(source.values), np.asarray(source.weights)
    count = min(count, len(values))
    group = np.random.default_rng(0).permutation(len(values)) % max(count, 1)
    rest = [group != g for g in range(count)] if count > 1 else []
    return tuple(law_of_values(values[kept].ravel(), weights[kept].ravel()) for kept in rest)


# Laws by quadrature ---------------------------------------------------------------------------------------------------


def _from_normal_map(marginal: AbstractNormalMap) -> Law:
    z, weight = normal_nodes()
    with jax.enable_x64(True):
        x = np.abs(np.asarray(marginal.from_normal(jnp.asarray(z, jnp.float64))))
    fourth, sixth = (_moment(x, weight, z, power) for power in (4, 6))
    # Merge the two halves of a symmetric law, and leave out what adds less than 1e-16 to E|X|.
    half = z.size // 2
    if np.allclose(x[half:], x[:half][::-1], rtol=1e-14):
        x, weight = x[half:], 2 * weight[half:]
    kept = weight * x > 1e-20
    return Law(x[kept], weight[kept], 1.0, float(np.sum(weight * x)), fourth, sixth)


def _moment(x: np.ndarray, weight: np.ndarray, z: np.ndarray, power: int) -> float:
    """E|X|^power, or ``inf``: past |z| = 37 less than a thousandth is left of every moment that converges."""
    with np.errstate(over="ignore"):
        terms = weight * x**power
    return float(terms.sum()) if terms[np.abs(z) > 37].sum() < 1e-3 * terms.sum() else math.inf


def _from_gaussians(marginal: GaussianPixel) -> Law:
    """A mixture of normals."""
    z, weight = normal_nodes()
    z, weight = z[np.abs(z) < 9], weight[np.abs(z) < 9]
    values = marginal.location[:, None] + np.sqrt(marginal.power)[:, None] * z
    return law_of_values(values.ravel(), np.broadcast_to(weight, values.shape).ravel())


def _from_ellipse(marginal: EllipticalMarginal) -> Law:
    """A radius times one coordinate sin(theta) of a point on the sphere, whose density is cos(theta)^(D-2)."""
    d, radial = marginal.dimension, marginal.radial
    radius, chance = radial.nodes(200)
    theta, weight = _angles()
    weight = weight * np.cos(theta) ** (d - 2)
    x = np.outer(radius, np.sin(theta)).ravel()
    law = law_of_values(np.concatenate([x, -x]), np.tile(np.outer(chance, weight).ravel(), 2))
    second = radial.moment(2, d)
    fourth = radial.moment(4, d) / second**2 * 3 * d / (d + 2)
    sixth = radial.moment(6, d) / second**3 * 15 * d**2 / ((d + 2) * (d + 4))
    return Law(law.magnitude, law.weight, math.sqrt(marginal.variance()), law.first, fourth, sixth)


def _angles() -> tuple[np.ndarray, np.ndarray]:
    """Nodes on (0, pi/2), refined towards 0, where erf turns when it is steep."""
    edges = np.concatenate([[0.0], np.pi / 2 * 2.0 ** np.arange(-16.0, 1.0)])
    t, weight = np.polynomial.legendre.leggauss(24)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (centre[:, None] + half[:, None] * t).ravel(), (half[:, None] * weight).ravel()
