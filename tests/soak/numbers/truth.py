"""Finite laws by plain loops: every state of a small ring with its probability, and what follows from them."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import scipy

States = tuple[np.ndarray, np.ndarray]
"""(state, pixel) and the probability of each state."""


def ising(n: int, coupling: float) -> States:
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    energy = np.array([sum(x[i] * x[i - 1] for i in range(n)) for x in states]) * coupling
    weight = np.exp(energy - energy.max())
    return states, weight / weight.sum()


def pulses(n: int, shortest: int, longest: int, values: tuple[int, int], complement: bool) -> States:
    states = []
    for length, start, turned in itertools.product(range(shortest, longest + 1), range(n), (False, True)):
        inside = [((i - start) % n < length) != (turned and complement) for i in range(n)]
        states.append([values[int(flag)] for flag in inside])
    return np.array(states, float), np.full(len(states), 1 / len(states))


def blocks(n: int, length: int) -> States:
    states = [
        [signs[(i + offset) % n // length] for i in range(n)]
        for offset in range(n)
        for signs in itertools.product((-1.0, 1.0), repeat=math.ceil(n / length))
    ]
    return np.array(states), np.full(len(states), 1 / len(states))


def signs(correlation: np.ndarray) -> States:
    """Signs of a Gaussian: orthant probabilities, in closed form up to 3 pixels, by Genz's quadrature beyond."""
    n = len(correlation)
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    chances = np.array([_orthant(correlation * np.outer(x, x)) for x in states])
    return states, chances / chances.sum()


def _orthant(correlation: np.ndarray) -> float:
    n = len(correlation)
    angles = np.arcsin(np.clip(correlation[np.triu_indices(n, 1)], -1, 1))
    if n == 2:
        return 1 / 4 + float(angles.sum()) / (2 * math.pi)
    if n == 3:
        return 1 / 8 + float(angles.sum()) / (4 * math.pi)
    law = scipy.stats.multivariate_normal(np.zeros(n), correlation, allow_singular=True, seed=0)
    return float(law.cdf(np.zeros(n)))


# Laws made from laws --------------------------------------------------------------------------------------------------


def affine(law: States, scale: float, offset: float) -> States:
    return scale * law[0] + offset, law[1]


def window(law: States, size: int) -> States:
    return law[0][:, :size], law[1]


def filtered(law: States, taps: list[float]) -> States:
    """y_i = sum_j taps_j x_(i - j + middle), scaled to a mean variance of 1."""
    states, chances = law
    n, middle = states.shape[1], len(taps) // 2
    out = np.zeros_like(states)
    for i, (j, tap) in itertools.product(range(n), enumerate(taps)):
        out[:, i] += tap * states[:, (i - j + middle) % n]
    variance = np.mean(chances @ out**2 - (chances @ out) ** 2)
    return out / math.sqrt(variance), chances


def random_scale(law: States, spread: float) -> States:
    """The factor exp(spread Z - spread^2) by 40 nodes of Gauss and Hermite, exact for polynomials of Z up to 79."""
    z, weight = np.polynomial.hermite_e.hermegauss(40)
    factors = np.exp(spread * z - spread**2)
    states = (factors[:, None, None] * law[0]).reshape(-1, law[0].shape[1])
    return states, np.outer(weight / weight.sum(), law[1]).ravel()


# What follows ---------------------------------------------------------------------------------------------------------


def mean(law: States) -> np.ndarray:
    return law[1] @ law[0]


def covariance(law: States) -> np.ndarray:
    apart = law[0] - mean(law)
    return (apart * law[1][:, None]).T @ apart


def gated(law: States, w: np.ndarray) -> np.ndarray:
    """E[1(<w,X> >= 0) X], a sum within rounding of 0 being 0."""
    states, chances = law
    total = states @ w
    is_open = total >= -1e-10 * np.abs(w).sum() * np.abs(states).max()
    return (chances * is_open) @ states


def waves(law: States, directions: np.ndarray) -> np.ndarray:
    """E exp(i<k,X>) at every direction k: two laws with the same waves are the same law."""
    return law[1] @ np.exp(1j * law[0] @ directions.T)


def expected(law: States, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return law[1] @ function(law[0])
