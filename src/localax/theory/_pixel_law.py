"""One pixel's law as numbers: magnitudes and weights for expectations of even functions, and moments.

The amplifier is E[X erf(X t)], an even function of X, so only the law of |X - mean| counts. Every law is brought to
variance 1; its own standard deviation is kept beside it.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
import scipy

from .._errors import setting_error
from .._math import gathered
from .._types import Float
from ..spec import Number
from ..stimuli import AbstractMarginal

Numbers = Float[np.ndarray, " nodes"]
MANY = 4096
"""More values than this are gathered into bins."""


class PixelLaw(eqx.Module):
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
            value[part] = scipy.special.erf(xt * math.sqrt(0.5)) @ (self.weight * self.magnitude)
            change[part] = np.exp(-(xt**2) / 2) @ (self.weight * self.magnitude**2)
        return value, math.sqrt(2 / math.pi) * change


def pixel_law(marginal: AbstractMarginal) -> PixelLaw:
    """The nodes and moments of a marginal: all its nodes if they are few, else gathered with an error below 1e-9.

    A law that a few numbers describe is computed once, however many formulas ask for it.
    """
    few = all(isinstance(leaf, float | int) for leaf in jax.tree.leaves(marginal))
    return _kept(marginal) if few else _pixel_law(marginal)


def _pixel_law(marginal: AbstractMarginal) -> PixelLaw:
    scale = math.sqrt(marginal.variance())
    if not scale > 0:
        raise setting_error("amplifier", "marginal", "a constant", "a law with a positive variance")
    values, weight = marginal.nodes()
    magnitude, weight = _halved(np.abs(values - marginal.mean()) / scale, weight)
    if magnitude.size > MANY:
        magnitude, weight = gathered(magnitude, weight)
    return PixelLaw(magnitude, weight, scale, *(marginal.standard_moment(order) for order in (1, 4, 6)))


_kept = functools.lru_cache(maxsize=16)(_pixel_law)


def _halved(magnitude: Numbers, weight: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Nodes with the two halves of a symmetric law merged, and without those that add less than 1e-16 to E|X|."""
    half, odd = divmod(magnitude.size, 2)
    mirrored = (np.allclose(a[half:], a[:half][::-1], rtol=1e-12, atol=0) for a in (magnitude, weight))
    if not odd and all(mirrored):
        magnitude, weight = magnitude[half:], 2 * weight[half:]
    kept = weight * magnitude > 1e-20
    return magnitude[kept], weight[kept]


def root(function: Callable[[float], float], low: Number, high: Number, *, width: float = 1e-12) -> float:
    """Where a function changes its sign, to this width, by Brent's method."""
    found: Any = scipy.optimize.brentq(function, low, high, xtol=width)
    return float(found)
