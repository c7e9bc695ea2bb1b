"""Laws of one pixel, and those of finitely many values.

The theory asks a marginal for its ``nodes`` and ``standard_moment``. Both have a default for every law with a mean, a
variance, an excess kurtosis and a distribution function.
"""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import scipy

from .._errors import SettingError, setting_error
from .._math import unit_nodes
from .._text import readable
from .._types import Float, Leaf

Numbers = Float[np.ndarray, "*any"]


class AbstractMarginal(eqx.Module):
    """The law of one pixel: exact moments and distribution function, by numpy in float64."""

    __repr__ = readable

    @abc.abstractmethod
    def mean(self) -> float: ...

    @abc.abstractmethod
    def variance(self) -> float: ...

    @abc.abstractmethod
    def excess_kurtosis(self) -> float:
        """Fourth central moment over the squared variance, less 3; ``inf`` where it diverges."""

    @abc.abstractmethod
    def cdf(self, x: Numbers) -> Numbers:
        """P(X <= x) at every ``x``."""

    def atoms(self) -> tuple[Numbers, Numbers] | None:
        """Values and probabilities of a discrete law; None for a continuous one."""
        return None

    def draws(self) -> float:
        """How many independent draws this law was estimated from; infinite for an exact one."""
        return float("inf")

    @property
    def is_gaussian(self) -> bool:
        """Whether this is a normal law, of any mean and variance."""
        return False

    def nodes(self) -> tuple[Numbers, Numbers]:
        """Values and weights for expectations: the atoms, else the inverse of ``cdf`` at nodes of its value.

        These are refined towards 0, 1 and the mean, and leave out tails of less than 2^-50.
        """
        atoms = self.atoms()
        if atoms is not None:
            return atoms
        share, weight = unit_nodes(40)
        middle = float(self.cdf(np.array(self.mean())))
        if not 0 < middle < 1:
            raise self._contradiction()
        p = np.concatenate([middle * share, 1 - (1 - middle) * share])
        return self._inverted(p), np.concatenate([middle * weight, (1 - middle) * weight])

    def _inverted(self, p: Numbers) -> Numbers:
        """Where the distribution function is p; Cantelli's inequality says between which values."""
        mean, deviation = self.mean(), np.sqrt(self.variance())
        low, high = mean - deviation * (1 + np.sqrt(1 / p - 1)), mean + deviation * (1 + np.sqrt(p / (1 - p)))
        found = root(lambda x, p: self.cdf(x) - p, (low, high), p)
        if not np.all(np.isfinite(found)):
            raise self._contradiction()
        return found

    def _contradiction(self) -> SettingError:
        return setting_error(type(self), "cdf", self, "increasing from 0 to 1, with this mean and variance")

    def standard_moment(self, order: int) -> float:
        """E|X - mean|^k, k the ``order``, in units of the standard deviation; ``inf`` where it diverges."""
        if order == 4:
            return self.excess_kurtosis() + 3
        values, weights = self.nodes()
        size = np.abs(values - self.mean()) / np.sqrt(self.variance())
        if self.atoms() is None and _grows(size, weights, order):
            return float("inf")
        return float(np.sum(weights * size**order))

    def jackknife(self, count: int = 20) -> tuple["AbstractMarginal", ...]:
        """The laws with one of ``count`` groups of values left out; none for a law that is known exactly."""
        del count
        return ()


def _grows(size: Numbers, weight: Numbers, order: int) -> bool:
    """Whether ten octaves of the tail add no less to a moment than the ten before them: then it diverges."""
    outside_in = np.argsort(-size)
    size, weight = size[outside_in], weight[outside_in]
    tail, terms = np.cumsum(weight), weight * size**order
    inner, outer = (np.sum(terms[(tail > 2.0 ** (d - 10)) & (tail <= 2.0**d)]) for d in (-20, -30))
    return bool(outer > 0.9 * inner > 0)


def root(function: Callable, ends: tuple[Numbers, Numbers], parameter: Numbers, **options: Any) -> Numbers:
    """Where a function of x and a parameter turns from negative to positive, for every parameter."""
    from scipy.optimize.elementwise import find_root  # takes a fifth of a second, and few laws need it

    return np.asarray(find_root(function, ends, args=(parameter,), **options).x)


def left_out(n: int, count: int) -> list[np.ndarray]:
    """Which of n samples are kept when each of ``count`` random groups in turn is left out."""
    count = min(count, n)
    group = np.random.default_rng(0).permutation(n) % max(count, 1)
    return [group != g for g in range(count)] if count > 1 else []


class TwoPoint(AbstractMarginal):
    """Two values, the higher one with a given probability: the marginal of pulses."""

    low: Leaf
    high: Leaf
    probability: Leaf

    def mean(self) -> float:
        return float(self.low + (self.high - self.low) * self.probability)

    def variance(self) -> float:
        return float((self.high - self.low) ** 2 * self.probability * (1 - self.probability))

    def excess_kurtosis(self) -> float:
        p = float(self.probability)
        return 1 / (p * (1 - p)) - 6

    def cdf(self, x: Numbers) -> Numbers:
        return np.where(x < self.low, 0.0, np.where(x < self.high, 1 - self.probability, 1.0))

    def atoms(self) -> tuple[Numbers, Numbers]:
        p = float(self.probability)
        return np.array([float(self.low), float(self.high)]), np.array([1 - p, p])


class Weighted(AbstractMarginal):
    """The law of a finite set of ``values`` with ``weights`` (None: all alike), which need not add up to 1.

    Pixels of somebody's data, or draws from a law without a closed form (``estimated``).
    """

    values: Leaf
    weights: Leaf
    estimated: bool = eqx.field(static=True)

    def __init__(self, values: np.ndarray, weights: np.ndarray | None = None, estimated: bool = False):
        self.estimated = estimated
        values = np.asarray(values, float).ravel()
        weights = np.ones_like(values) if weights is None else np.asarray(weights, float).ravel()
        order = np.argsort(values)
        self.values, self.weights = values[order], weights[order] / weights.sum()

    def mean(self) -> float:
        return float(np.sum(self.weights * self.values))

    def variance(self) -> float:
        return float(np.sum(self.weights * (self.values - self.mean()) ** 2))

    def excess_kurtosis(self) -> float:
        return self.standard_moment(4) - 3

    def standard_moment(self, order: int) -> float:
        variance = self.variance()
        if not variance > 0:
            raise setting_error("marginal", "values", "a constant", "values that vary")
        size = np.abs(self.values - self.mean()) / np.sqrt(variance)
        return float(np.sum(self.weights * size**order))

    def cdf(self, x: Numbers) -> Numbers:
        steps = np.concatenate([[0.0], np.cumsum(self.weights)])
        return np.asarray(steps[np.searchsorted(self.values, x, side="right")])

    def draws(self) -> float:
        return float(self.values.size) if self.estimated else float("inf")

    def nodes(self) -> tuple[Numbers, Numbers]:
        return np.asarray(self.values), np.asarray(self.weights)

    def jackknife(self, count: int = 20) -> tuple["Weighted", ...]:
        values, weights = self.nodes()
        return tuple(Weighted(values[k], weights[k], self.estimated) for k in left_out(values.size, count))


class Moved(AbstractMarginal):
    """Another law times a scale plus an offset."""

    law: AbstractMarginal
    scale: float
    offset: float

    def mean(self) -> float:
        return self.scale * self.law.mean() + self.offset

    def variance(self) -> float:
        return self.scale**2 * self.law.variance()

    def excess_kurtosis(self) -> float:
        return self.law.excess_kurtosis()

    def standard_moment(self, order: int) -> float:
        return self.law.standard_moment(order)

    @property
    def is_gaussian(self) -> bool:
        return self.law.is_gaussian

    def draws(self) -> float:
        return self.law.draws()

    def cdf(self, x: Numbers) -> Numbers:
        atoms = self.atoms()
        if atoms is not None:  # compared as they are: (x - offset)/scale would round past them
            values, chances = atoms
            return np.append(0.0, np.cumsum(chances))[np.searchsorted(values, x, side="right")]
        back = (np.asarray(x, float) - self.offset) / self.scale
        return self.law.cdf(back) if self.scale > 0 else 1 - self.law.cdf(np.nextafter(back, -np.inf))

    def atoms(self) -> tuple[Numbers, Numbers] | None:
        atoms = self.law.atoms()
        return None if atoms is None else self._moved(*atoms)

    def nodes(self) -> tuple[Numbers, Numbers]:
        return self._moved(*self.law.nodes())

    def _moved(self, values: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
        """Values and their weights, in increasing order where they were."""
        way = 1 if self.scale > 0 else -1
        return (self.scale * values + self.offset)[::way], weights[::way]

    def jackknife(self, count: int = 20) -> tuple["Moved", ...]:
        return tuple(Moved(law, self.scale, self.offset) for law in self.law.jackknife(count))


class LognormalMixture(AbstractMarginal):
    """Another law times an independent factor exp(spread Z - spread^2), Z standard normal, whose square has mean 1."""

    law: AbstractMarginal
    spread: float

    def factor_moment(self, order: int) -> float:
        """E A^k of the factor A, k the ``order``."""
        return math.exp(self.spread**2 * order * (order - 2) / 2)

    def mean(self) -> float:
        return self.factor_moment(1) * self.law.mean()

    def variance(self) -> float:
        return self.law.variance() + self.law.mean() ** 2 - self.mean() ** 2

    def excess_kurtosis(self) -> float:
        """From the law's own moments about 0: of a law of mean 0, e^(4 spread^2) times its kurtosis, less 3."""
        law, mean = self.law, self.mean()
        centre, power = law.mean(), law.variance()
        lean = 0.0 if centre == 0 else _third_moment(law)
        third = lean + 3 * centre * power + centre**3
        fourth = (law.excess_kurtosis() + 3) * power**2 + 4 * centre * lean + 6 * centre**2 * power + centre**4
        fourth, third = self.factor_moment(4) * fourth, self.factor_moment(3) * third
        central = fourth - 4 * mean * third + 6 * mean**2 * (power + centre**2) - 3 * mean**4
        return central / self.variance() ** 2 - 3

    def standard_moment(self, order: int) -> float:
        if self.law.mean() == 0:
            return self.factor_moment(order) * self.law.standard_moment(order)
        if order % 2 == 0 or self.spread == 0:
            return super().standard_moment(order)
        return self._odd_moment(order) / self.variance() ** (order / 2)

    def _odd_moment(self, order: int) -> float:
        """E|X - mean|^k, k odd, in closed form for each value of the law: nodes do not see the mean crossed."""
        (values, weights), mean, total = self.law.nodes(), self.mean(), 0.0
        alike = values * mean > 0
        crossed = np.log(np.where(alike, mean, 1.0) / np.where(alike, values, 1.0)) / self.spread + self.spread
        for j in range(order + 1):
            part = scipy.special.ndtr(crossed - j * self.spread)
            below = np.where(alike, np.where(values > 0, part, 1 - part), mean > 0)
            power = self.factor_moment(j) * values**j * (-mean) ** (order - j)
            total += math.comb(order, j) * float(weights @ (power * (1 - 2 * below)))
        return total

    @property
    def is_gaussian(self) -> bool:
        return self.spread == 0 and self.law.is_gaussian

    def draws(self) -> float:
        return self.law.draws()

    def atoms(self) -> tuple[Numbers, Numbers] | None:
        return self.law.atoms() if self.spread == 0 else None

    def cdf(self, x: Numbers) -> Numbers:
        """A mean over the law, given which the factor's own distribution is known, or over factors if that is long."""
        x = np.asarray(x, float)
        if self.spread == 0:
            return self.law.cdf(x)
        values, weights = self.law.nodes()
        if values.size > FEW:
            factors, shares = _factors(self.spread)
            return np.tensordot(shares, self.law.cdf(np.divide.outer(x, factors)), (0, -1))
        values, weights = values[weights > 1e-9], weights[weights > 1e-9]
        total = np.empty(x.size)
        for part in np.array_split(np.arange(x.size), 1 + x.size * values.size // 2**21):
            total[part] = self._below(x.ravel()[part, None], values) @ weights
        return total.reshape(x.shape)

    def _below(self, x: Float[np.ndarray, "n 1"], value: Float[np.ndarray, " m"]) -> Float[np.ndarray, "n m"]:
        """P(A value <= x) at every x and value."""
        alike = x * value > 0
        ratio = np.where(alike, x, 1.0) / np.where(alike, value, 1.0)
        reached = scipy.special.ndtr(np.log(ratio) / self.spread + self.spread)
        return np.where(alike, np.where(value > 0, reached, 1 - reached), np.where(value == 0, x >= 0, value < 0))

    def nodes(self) -> tuple[Numbers, Numbers]:
        values, weights = self.law.nodes()
        if values.size > FEW:
            return super().nodes()
        factors, shares = _factors(self.spread)
        return np.outer(factors, values).ravel(), np.outer(shares, weights).ravel()

    def jackknife(self, count: int = 20) -> tuple["LognormalMixture", ...]:
        return tuple(LognormalMixture(law, self.spread) for law in self.law.jackknife(count))


FEW = 8192
"""Nodes of a law that are taken one by one."""


def _factors(spread: float) -> tuple[Numbers, Numbers]:
    z, weight = np.polynomial.hermite_e.hermegauss(48)
    return np.exp(spread * z - spread**2), weight / weight.sum()


def _third_moment(law: AbstractMarginal) -> float:
    values, weights = law.nodes()
    return float(np.sum(weights * (values - law.mean()) ** 3))


class EvenPixel(AbstractMarginal):
    """One pixel, each as likely, of a field whose pixels are one symmetric law, moved and stretched."""

    standard: AbstractMarginal
    location: Float[np.ndarray, " pixels"]
    power: Float[np.ndarray, " pixels"]

    def _stretches(self) -> Float[np.ndarray, " pixels"]:
        return np.sqrt(self.power / self.standard.variance())

    @property
    def is_gaussian(self) -> bool:
        alike = np.ptp(self.power) <= 1e-12 * np.max(self.power) and np.ptp(self.location) == 0
        return bool(self.standard.is_gaussian and alike)

    def mean(self) -> float:
        return float(np.mean(self.location))

    def variance(self) -> float:
        return float(np.mean(self.power) + np.var(self.location))

    def excess_kurtosis(self) -> float:
        apart, fourth = self.location - self.mean(), self.standard.standard_moment(4)
        mean = np.mean(apart**4 + 6 * apart**2 * self.power + fourth * self.power**2)
        return float(mean / self.variance() ** 2 - 3)

    def standard_moment(self, order: int) -> float:
        return super().standard_moment(order) if len(self.power) > 1 else self.standard.standard_moment(order)

    def cdf(self, x: Numbers) -> Numbers:
        total = np.zeros(np.shape(x))
        for location, stretch in zip(self.location, self._stretches(), strict=True):
            total += self.standard.cdf((x - location) / stretch) if stretch > 0 else x >= location
        return total / len(self.location)

    def nodes(self) -> tuple[Numbers, Numbers]:
        values, weights = self.standard.nodes()
        kept = weights > 1e-20  # normal nodes reach much further
        values = self.location[:, None] + self._stretches()[:, None] * values[kept]
        return values.ravel(), np.tile(weights[kept] / len(self.power), len(self.power))
