"""The flat field of many pixels: what decides there is the fourth cumulant summed over pixels, not that of one pixel.

K4 = sum_jkl cum(X_0, X_j, X_k, X_l) is the fourth cumulant of the pixels' sum, per pixel. For a copula it is a sum over
graphs with four corners and n_ij lines between them (Wick's theorem for Hermite polynomials),

    K4 = sum_n prod_i a_di sqrt(di!) prod_ij 1/n_ij!  sum_jkl prod rho^n_ij,   d_i = sum_j n_ij,

connected ones alone, with a_d the Hermite coefficients of the map. Ordered by the number of lines it diverges, with
alternating signs, for all but nearly Gaussian maps; Wynn's epsilon algorithm sums it.
"""

import functools
import itertools
import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..._errors import setting_error
from ..._math import hermite_coefficients, spectrum
from ...stimuli import AbstractCopula, AbstractStimulus, Task, checked_stimulus
from .._checks import symmetric_task, unbalanced
from .._estimate import Estimate, Mean, batches, draw, exactly
from .._float64 import in_float64
from ._zero_sum import sum_law

LINES = 24
"""Graphs of up to so many lines: with 28 nothing changes in the fourth digit up to gain 1."""
FAR = 1e-8
"""Correlations below this are left out."""
PLACES = 2**17
"""Most places of three pixels that are summed; more are sampled."""
PAIRS = tuple(itertools.combinations(range(4), 2))


@in_float64
def summed_cumulant(stimulus: AbstractStimulus, *, samples: int = 2**20, seed: int = 0) -> Estimate:
    """K4, the fourth cumulant of the sum of all pixels over their number, of a shift-invariant ``stimulus``.

    Independent pixels have their own fourth cumulant; in units of l_0^3, l_0 the variance of the sum per pixel, K4
    takes the place of the excess kurtosis at large N. By the series above for copulas on rings, and on tori where the
    latent correlation is a product; the error is what its last terms leave open. Exact for elliptical laws, Ising rings
    and few states; else from ``samples`` drawn with ``seed``, whose error is honest only where the eighth moment is
    finite.
    """
    checked_stimulus("summed_cumulant", stimulus)
    if not stimulus.shift_invariant or not stimulus.sign_symmetric:
        expected = "a sign-symmetric stimulus on a ring or torus"
        raise setting_error("summed_cumulant", "stimulus", type(stimulus).__name__, expected)
    single, factor = stimulus.multiple_of()
    found = _cumulant(single, samples, seed)
    return Estimate(np.asarray(factor**4 * found.value), np.asarray(factor**4 * found.standard_error))


def _cumulant(stimulus: AbstractStimulus, samples: int, seed: int) -> Estimate:
    size, variance = math.prod(stimulus.shape), float(np.sum(stimulus.covariance()))
    if stimulus.elliptical_constant() is not None:
        return exactly(size * variance**2 * stimulus.marginal.excess_kurtosis())
    row = _along_a_side(stimulus) if isinstance(stimulus, AbstractCopula) else None
    if row is not None and isinstance(stimulus, AbstractCopula) and stimulus.marginal.atoms() is None:
        return _series(stimulus, row)
    law = sum_law(stimulus)
    if law is not None:
        return exactly(law[1] @ law[0] ** 4 / size - 3 * size * variance**2)
    mean = Mean()
    for index, n in batches(samples, size):
        # S^2 has a known mean, which takes most of the noise out: for a Gaussian S^4 - 6 S^2 is fourth order.
        s = np.asarray(draw(stimulus, seed, 0, index, n)).sum(1) / math.sqrt(size * variance)
        mean.add(s**4 - 6 * (s**2 - 1) - 3)
    found = mean.estimate()
    scale = size * variance**2
    return Estimate(np.asarray(scale * found.value), np.asarray(scale * found.standard_error))


@in_float64
def edgeworth_growth_rates(task: Task) -> np.ndarray:
    """Growth rates at the flat fixed point of the true flow to first order in 1/N, of waves long against lengthscales.

    By an Edgeworth expansion of :func:`exact_growth_rates`: with C = K4/(N l_0^2) of a class, its part of the drive
    of wave k is l_ck (1 - 3 C/8)/sqrt(N l_c0) and its E|S| smaller by C/24 than a Gaussian's. For labels 0 and 1
    wave k grows if -C/3 > (r_k - r_0)/(1 + r_0). For sums with a density: on pixels +-s, where these lie on a lattice,
    E|S| has another term of this order. Shaped and ordered like :func:`flat_growth_rates`; ``task``: as there,
    of sign-symmetric classes.
    """
    shares, labels = symmetric_task("edgeworth_growth_rates", task)
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    flat, size = modes.reshape(len(modes), -1)[:, 0], math.prod(task.shape)
    # Only the labelled classes are asked: a class of label 0 counts by its covariance alone.
    sums = [float(summed_cumulant(s).value) if y else 0.0 for s, y in zip(task.stimuli, labels, strict=True)]
    excess = np.array(sums) / (size * flat**2)
    height = np.sum(shares * labels * np.sqrt(flat) * (1 - excess / 24))
    if not height > 0:
        raise unbalanced("edgeworth_growth_rates", labels)
    gain = shares * labels * (1 + excess / 8 - excess / 2) / np.sqrt(flat) * np.sum(shares * flat) / height
    rates = np.tensordot(gain - shares, modes, 1)
    rates.flat[0] = -np.sum(shares * flat)
    return rates


# The series -----------------------------------------------------------------------------------------------------------


def _along_a_side(stimulus: AbstractCopula) -> np.ndarray | None:
    """The latent correlation of which the whole is a product over axes, all alike; None where there is none."""
    row = np.asarray(stimulus.latent.row, float)
    if row.ndim == 2:
        if row.shape[0] != row.shape[1] or np.max(np.abs(row - np.outer(row[0], row[0]))) > 1e-12:
            return None
        row = row[0]
    near = _near(row)
    return row if (2 * near + 1) ** 3 <= PLACES or row.size**3 <= PLACES else None


def _near(row: np.ndarray) -> int:
    return int(np.max(np.flatnonzero(np.abs(row[: row.size // 2 + 1]) > FAR)))


def _series(stimulus: AbstractCopula, row: np.ndarray) -> Estimate:
    dimension, near = len(stimulus.shape), _near(row)
    window = None if 2 * near + 1 >= row.size else near
    kept = row if window is None else row[: near + 1]
    values = np.asarray(stimulus.marginal.nodes()[0])
    weights = hermite_coefficients(values, LINES + 1)
    size = np.log(np.abs(weights) + 1e-300) + gammaln(np.arange(LINES + 1) + 1) / 2
    terms = []
    for lines in range(3, LINES + 1):
        graphs, count = _graphs(lines)
        degree = graphs @ _incidence()
        factor = count * np.prod(np.sign(weights)[degree], axis=1)
        factor *= np.exp(np.sum(size[degree], axis=1) - np.sum(gammaln(graphs + 1), axis=1))
        terms.append(np.sum(factor * _places(kept.tobytes(), window, lines) ** dimension))
    return _summed(np.array(terms))


def _incidence() -> np.ndarray:
    return np.array([[int(corner in pair) for corner in range(4)] for pair in PAIRS])


@functools.cache
def _graphs(lines: int) -> tuple[np.ndarray, np.ndarray]:
    """Connected graphs on four corners, all of odd degree: (graph, pair) numbers of lines, and how many are alike."""
    found = []
    for odd in itertools.product((0, 1), repeat=6):
        left = lines - sum(odd)
        if np.all(np.array(odd) @ _incidence() % 2) and left >= 0 and left % 2 == 0:
            found.append(np.array(odd) + 2 * _compositions(left // 2, 6))
    graphs = np.concatenate(found)
    # No corner is without a line, so what falls apart falls into two opposite pairs.
    apart = [np.delete(graphs, [a, 5 - a], axis=1).sum(1) == 0 for a in range(3)]
    graphs = graphs[~np.any(apart, axis=0)]
    codes = []
    for order in itertools.permutations(range(4)):
        moved = [PAIRS.index((min(order[a], order[b]), max(order[a], order[b]))) for a, b in PAIRS]
        codes.append(graphs[:, moved] @ 64 ** np.arange(6))
    _, first, count = np.unique(np.min(codes, axis=0), return_index=True, return_counts=True)
    return graphs[first], count.astype(float)


@functools.cache
def _compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write a total as an ordered sum of so many numbers >= 0."""
    if parts == 1:
        return np.array([[total]])
    rest = [(first, _compositions(total - first, parts - 1)) for first in range(total + 1)]
    return np.concatenate([np.column_stack([np.full(len(c), first), c]) for first, c in rest])


@functools.lru_cache(maxsize=256)
def _places(row: bytes, window: int | None, lines: int) -> np.ndarray:
    """sum_jkl prod rho^n over the places of three pixels beside pixel 0, for all graphs of so many lines."""
    values, graphs = np.frombuffer(row), _graphs(lines)[0]
    side = np.arange(values.size) if window is None else np.arange(-window, window + 1)
    place = np.stack([np.zeros(side.size**3, int), *(a.ravel() for a in np.meshgrid(side, side, side))])
    weight = np.ones(place.shape[1], np.float32)
    if window is not None:  # mirror images count twice
        code = place[1:].T @ np.array([10**8, 10**4, 1])
        place, weight = place[:, code >= 0], np.where(code[code >= 0] > 0, 2, 1).astype(np.float32)
    apart = np.stack([place[a] - place[b] for a, b in PAIRS])
    inside = np.abs(apart) < values.size if window is not None else np.ones(apart.shape, bool)
    rho = values[apart % values.size] if window is None else values[np.where(inside, np.abs(apart), 0)]
    # Float32 is enough, and four times as fast; a correlation that is left out is one of e^-60.
    size = np.where(inside & (rho != 0), np.log(np.abs(np.where(rho == 0, 1, rho))), -60).astype(np.float32)
    negative = (rho < 0).astype(np.float32) if np.any(rho < 0) else None
    total = np.empty(len(graphs))
    for part in np.array_split(np.arange(len(graphs)), 1 + graphs.shape[0] * place.shape[1] // 2**23):
        n = graphs[part].astype(np.float32)
        terms = np.exp(n @ size)
        total[part] = (terms if negative is None else terms * (1 - 2 * (n @ negative % 2))) @ weight
    return total


def _summed(terms: np.ndarray) -> Estimate:
    """The sum of a series by Wynn's epsilon algorithm, and how much its last three values differ."""
    before, now = np.zeros(len(terms) + 1), np.cumsum(terms)
    found = [now[-2], now[-1]]
    scale = np.max(np.abs(now))
    for column in range(1, len(terms)):
        steps = np.diff(now)
        if np.min(np.abs(steps)) < 1e-13 * (scale if column % 2 else np.max(np.abs(now))):
            break
        before, now = now, before[1:-1] + 1 / steps
        if column % 2 == 0:
            found.append(now[-1])
    last: Any = np.array(found[-3:])
    return Estimate(np.array(last[-1]), np.array(np.ptp(last)))
