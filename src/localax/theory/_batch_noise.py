"""How much the gradient of a batch varies where pixels have heavy tails.

The gradient of one sample is quadratic in its pixels, so pixels of tail index nu give it the index nu/2. Below 2 it has
no variance, and the mean of B samples varies as B^(2/nu - 1), more slowly than B^(-1/2).
"""

import math
from typing import Any

import numpy as np
import scipy

from .._errors import setting_error
from .._types import Float
from ..spec import Number, finite_array
from ._pixel_law import root

LOG_Q = np.arange(-70.0, 7.0, 0.05)
"""Logarithms of a chi-square at which its law is summed; a trapezoid rule there converges exponentially."""
COARSE = np.arange(math.log(1e-14), math.log(1e8), 0.1)
"""Logarithms of frequency at which the characteristic function is summed; it is smooth on that scale."""
FINE = np.arange(COARSE[0], COARSE[-1], 0.002)
"""Those over which it is inverted, fine enough for the oscillations before it has died away."""
FEWEST = 100
"""Samples below which a batch may well have no open gate, and its law is not smooth."""


def noise_exponent(tail_index: Number) -> float:
    """How the gradient of a batch of B samples varies with B, as a power of it: max(2/nu - 1, -1/2).

    ``tail_index``: nu, where P(|pixel| > x) falls as x^-nu, above 2 (infinity for a Gaussian). At nu = 4 the variance
    diverges by a logarithm, and the local power is -1/2 + 1/(2 log B).
    """
    if not tail_index > 2:
        raise setting_error("noise_exponent", "tail_index", tail_index, "above 2: with less, pixels have no variance")
    return max(2 / tail_index - 1, -0.5)


def student_batch_noise(df: Number, batches: Any) -> Float[np.ndarray, " batch"]:
    """The median difference of two batch gradients along the field, for a Student t that is labelled 0; no samples.

    The gradient along w of one sample is 2 1(s > 0) s^2 with s = <w,X>; the answer is in units of its mean. Its law is
    the same for all w and covariances: t^2/q behind an open gate, t normal and q chi-square, so that its characteristic
    function is one integral, and that of a batch a power of it. ``df``: degrees of freedom, the tail index, above 2.
    ``batches``: numbers of samples, each at least 100.
    """
    sizes = finite_array("student_batch_noise", "batches", batches, "numbers of samples").astype(float)
    if sizes.ndim != 1 or not np.all(sizes >= FEWEST):
        raise setting_error("student_batch_noise", "batches", batches, f"a list of numbers, each at least {FEWEST}")
    if not 2 < df < 1000:
        raise setting_error("student_batch_noise", "df", df, "above 2 and below 1000")
    decay = np.exp(np.interp(FINE, COARSE, np.log(_decay(np.exp(COARSE), float(df)))))
    return np.array([_median(size, decay) for size in sizes])


def _decay(frequency: np.ndarray, df: float) -> np.ndarray:
    """-log |E exp(i frequency G)|^2 of the term G of one sample, scaled to mean 1."""
    log_density = df / 2 * LOG_Q - np.exp(LOG_Q) / 2 - scipy.special.gammaln(df / 2) - df / 2 * math.log(2)
    weight = (LOG_Q[1] - LOG_Q[0]) * np.exp(log_density)
    # E exp(i f t^2/q) over t is (1 - 2if/q)^(-1/2); the gate is open half of the time, and E t^2/q = 1/(df - 2).
    lost = -np.expm1(-0.5 * np.log1p(-4j * (df - 2) * np.multiply.outer(frequency, np.exp(-LOG_Q)))) @ weight / 2
    return -np.log1p(np.abs(lost) ** 2 - 2 * lost.real)


def _median(size: float, decay: np.ndarray) -> float:
    """Of |mean of one batch - mean of another|."""
    kept = size * decay < 40
    frequency, damped = size * np.exp(FINE[kept]), np.exp(-size * decay[kept])

    def beyond_half(log_x: float) -> float:
        return 2 / math.pi * (FINE[1] - FINE[0]) * float(np.sin(math.exp(log_x) * frequency) @ damped) - 0.5

    # From below, where the integral is smooth: far above the median it oscillates faster than its grid.
    high = math.log(1e-9)
    while beyond_half(high) < 0:
        high += 0.25
    return math.exp(root(beyond_half, high - 0.25, high))
