"""Which hidden units are localized, slow waves or fast waves, and how many make "the receptive fields are so" true.

Both by the one rule of `localax.analysis`: localized is what `localized` says, a wave what `classify` calls
oscillatory. Only a wave has a frequency: a single pixel has all of them alike, and of white noise, whose strongest one
is chance, 88% would pass for fast waves. A packet of waves loses nothing by it: on any ring it is oscillatory down to
the width at which it becomes localized.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from ...analysis import Kind, classify, dominant_frequency
from ...outcome import Number, finite
from .tasks import SIZE

LOW = 2
"""Cycles for every 40 pixels up to which a wave is slow."""
MOST = 0.9
"""Share of the units from which it is true that "the receptive fields" are of a kind: all but single exceptions."""
HALF = 0.5
"""Share beyond which it is true in part."""
RARE = 0.1
"""Share up to which it is true that they are not of a kind: such exceptions."""


def slow(fields: np.ndarray) -> np.ndarray:
    """Which fields are waves of a low frequency, the constant among them."""
    return _wave(fields) & (dominant_frequency(fields) <= _highest_slow(fields))


def fast(fields: np.ndarray) -> np.ndarray:
    """Which fields are waves of a high frequency; a localized one never is."""
    return _wave(fields) & (dominant_frequency(fields) > _highest_slow(fields))


def mixed(fields: np.ndarray) -> np.ndarray:
    """Which fields are neither localized nor waves: speckle, and several waves at once."""
    return classify(fields) == Kind.MIXED


def _wave(fields: np.ndarray) -> np.ndarray:
    return classify(fields) == Kind.OSCILLATORY


def _highest_slow(fields: np.ndarray) -> float:
    """Cycles round this ring that are as long in pixels as ``LOW`` of them on 40."""
    return LOW * fields.shape[-1] / SIZE


def share(name: str, which: np.ndarray, unit: str = "of the units") -> Number:
    """The share of units of which something is so, with its binomial standard error; no number of no units.

    The error is that of Laplace's rule of succession: where all units are alike, one more might still differ.
    """
    n, found = which.size, int(which.sum())
    if not n:
        return Number(name, None, unit=unit)
    return Number(name, found / n, math.sqrt((found + 1) * (n - found + 1) / (n + 3)) / (n + 2), unit)


def median(name: str, values: np.ndarray) -> Number:
    """The median over units, with the standard error that it would have of independent Gaussian ones."""
    error = math.sqrt(math.pi / 2 / values.size) * values.std(ddof=1) if values.size > 1 else None
    return Number(name, finite(np.median(values)) if values.size else None, error)


def extreme(name: str, choose: Callable[..., Number | None], numbers: Iterable[Number]) -> Number:
    """The smallest or largest of numbers, as ``choose`` is min or max, by another name; no number of none."""
    one = choose(numbers, key=lambda number: number.value, default=None)
    return Number(name, None) if one is None else Number(name, one.value, one.standard_error, one.unit)
