"""Laws of one pixel that differ in their bulk or in their tails alone, and the statistics that may decide about them.

A law is a *bulk* (flat, normal or peaked, the middle nine tenths of the values) with *tails* of a weight that gives it
the excess kurtosis that is wanted; beside these stand laws that have names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, erfc, ndtri

from ..._math import OddTable, normal_nodes
from ...stimuli import AbstractNormalMap, Copula, SquaredExponential, Task
from .tasks import SIZE, binary

MIDDLE = 0.9
"""Share of the values that is a law's bulk."""
EDGE = 1.6448536269514722
"""Where a bulk ends: that share of normal values is within it."""
FAR = 0.999
"""Share of the values within the far quantile that measures tails."""


Map = Callable[[np.ndarray], np.ndarray]
"""Of positive normal values to the size of a pixel, in any unit."""


class Tabled(AbstractNormalMap):
    """A symmetric law by a table of its map, scaled to variance 1: laws of all kinds are one class, and train at once.

    ``magnitude(z)``: the map at positive z, in any unit.
    """

    table: OddTable

    def __init__(self, magnitude: Map):
        z, weight = _positive()
        scale = np.sqrt(np.sum(weight * magnitude(z) ** 2))
        self.table = OddTable(lambda z: magnitude(z) / scale)

    def from_normal(self, z):
        return self.table(z)


def _positive() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for averages over |Z|."""
    z, weight = normal_nodes()
    return z[z > 0], weight[z > 0] / weight[z > 0].sum()


def _outside(z: np.ndarray) -> np.ndarray:
    """P(|Z| > z)."""
    return np.maximum(erfc(z / np.sqrt(2)), 1e-300)


def _flat(z: np.ndarray) -> np.ndarray:
    return erf(z / np.sqrt(2))


def _normal(z: np.ndarray) -> np.ndarray:
    return z


def _peaked(z: np.ndarray) -> np.ndarray:
    return -np.log(_outside(z))


BULKS: dict[str, Map] = {"flat": _flat, "normal": _normal, "peaked": _peaked}
"""Maps of the uniform, the normal and the Laplace law."""


def spliced(bulk: str, power: float) -> Map:
    """A bulk as far as `EDGE`, and beyond it values that grow as a power of 1/P(|X| > x)."""
    end = BULKS[bulk](np.array([EDGE]))[0]

    def magnitude(z: np.ndarray) -> np.ndarray:
        share = _outside(np.maximum(z, EDGE)) / (1 - MIDDLE)
        return np.where(z < EDGE, BULKS[bulk](np.minimum(z, EDGE)), end * share**-power)

    return magnitude


def spliced_name(bulk: str, excess: float) -> str:
    return f"{bulk} bulk, {excess:+g}"


def with_excess(bulk: str, excess: float) -> Map:
    """The bulk with the tails that give an excess kurtosis; a power below 1/4 has one."""
    power: Any = brentq(lambda power: _moments(spliced(bulk, power))[1] - excess, 1e-4, 0.245)
    return spliced(bulk, float(power))


def _moments(magnitude: Map) -> tuple[float, float]:
    """Geary's ratio E|X|/sd and the excess kurtosis."""
    z, weight = _positive()
    x = magnitude(z)
    square = np.sum(weight * x**2)
    return float(np.sum(weight * x) / np.sqrt(square)), float(np.sum(weight * x**4) / square**2 - 3)


STATISTICS = ("kurtosis", "geary", "bulk", "tails")
TITLES = ("excess kurtosis", "Geary's ratio", "kurtosis of the bulk", "tails")
TOWARDS = (-1, 1, -1, -1)
"""Which way of a statistic is expected to localize: low kurtosis, high ratio, flat bulk, light tails."""


@dataclass(frozen=True)
class Law:
    """A law of one pixel, by name, and what may decide about it."""

    name: str
    magnitude: Map

    @cached_property
    def marginal(self) -> Tabled:
        return Tabled(self.magnitude)

    @cached_property
    def statistics(self) -> dict[str, float]:
        """Excess kurtosis, E|X|/sd, kurtosis of the middle values, log of the far quantile over that of the bulk."""
        geary, excess = _moments(self.magnitude)
        z, weight = _positive()
        x, weight = self.magnitude(z[z < EDGE]), weight[z < EDGE]
        bulk = np.sum(weight * x**4) * np.sum(weight) / np.sum(weight * x**2) ** 2
        far, near = self.magnitude(np.array([ndtri((1 + FAR) / 2), EDGE]))
        return dict(zip(STATISTICS, (excess, geary, float(bulk), float(np.log(far / near))), strict=True))

    def task(self, lengthscales: Sequence[float]) -> Task:
        return binary(*(Copula(SIZE, SquaredExponential(one), self.marginal) for one in lengthscales))


def _kur(k: float, z: np.ndarray) -> np.ndarray:
    """u/(1 - u^k)^(1/k) for the share u = P(|Z| < z)."""
    return erf(z / np.sqrt(2)) * (-np.expm1(k * np.log1p(-_outside(z)))) ** (-1 / k)


def _nlgp(gain: float, z: np.ndarray) -> np.ndarray:
    return erf(gain * z)


def laws(excesses: Sequence[float], further: bool) -> tuple[Law, ...]:
    """Laws that have names, and every bulk with every excess kurtosis."""
    named: dict[str, Map] = {"normal": _normal, "uniform": _flat, "Kur(4.5)": partial(_kur, 4.5), "Laplace": _peaked}
    if further:
        named |= {"Kur(5.89)": partial(_kur, 5.89), "NLGP(3)": partial(_nlgp, 3.0)}
    made = {spliced_name(bulk, excess): with_excess(bulk, excess) for excess in excesses for bulk in BULKS}
    return tuple(Law(name, magnitude) for name, magnitude in (named | made).items())
