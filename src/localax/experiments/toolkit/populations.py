"""Populations of units that may be empty: shares, means and extremes as numbers of a claim, and fields to show."""

from collections.abc import Sequence

import numpy as np

from ...analysis import ipr, localized
from ...outcome import Number, finite


class Population:
    """Units with fields (..., pixel), and how local each of them is."""

    fields: np.ndarray

    @property
    def ipr(self) -> np.ndarray:
        return ipr(self.fields)

    @property
    def local(self) -> np.ndarray:
        """Which of them are localized."""
        return localized(self.fields)


def share(name: str, which: np.ndarray) -> Number:
    """The share of units of which something is so, with its standard error; no number of no units."""
    if not which.size:
        return Number(name, None)
    p = float(which.mean())
    return Number(name, p, float(np.sqrt(p * (1 - p) / which.size)))


def mean(name: str, values: Sequence[float] | np.ndarray, unit: str = "") -> Number:
    """The mean over networks, with its standard error where there are several."""
    found = finite(np.mean(values)) if len(values) else None
    several = found is not None and len(values) > 1
    return Number(name, found, float(np.std(values, ddof=1) / np.sqrt(len(values))) if several else None, unit)


def largest(name: str, values: Sequence[float] | np.ndarray, unit: str = "") -> Number:
    """The largest of numbers that are all there."""
    return Number(name, finite(np.max(values)) if len(values) else None, unit=unit)


def least(name: str, values: Sequence[float] | np.ndarray, unit: str = "") -> Number:
    """The least of numbers that are all there."""
    return Number(name, finite(np.min(values)) if len(values) else None, unit=unit)


def some(fields: np.ndarray, count: int | None = None) -> np.ndarray:
    """The first fields (field, pixel) of a population, or an empty axis where there are none."""
    return fields[:count] if len(fields) else np.zeros((1, 2))
