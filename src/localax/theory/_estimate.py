"""A number or array with its standard error, and how sampled ones are made."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..spec import checked_count
from ..stimuli import AbstractStimulus

CHUNK = 2**22
"""Pixels drawn at a time: 16 MB in float32."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """``value`` with ``standard_error``: 0 where the value is exact, NaN where it is an approximation of unknown error.

    It does not reckon: whoever multiplies ``value`` says what becomes of its error.
    """

    value: np.ndarray
    standard_error: np.ndarray

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{self.value}\n+- {self.standard_error}"
        value, error = float(self.value), float(self.standard_error)
        if not np.isfinite(error) or error <= 0:
            return f"{value:.6g} +- {error:g}"
        digits = max(-math.floor(math.log10(error)), 0)
        return f"{value:.{digits}f} +- {error:.{digits}f}"


def exactly(value: Any, error: float = 0.0) -> Estimate:
    """A value known up to a given error."""
    array = np.asarray(value, float)
    return Estimate(array, np.full(array.shape, float(error)))


class Mean:
    """A running mean over batches of independent terms, in float64."""

    def __init__(self) -> None:
        self.count, self.total, self.square = 0, np.zeros(()), np.zeros(())

    def add(self, terms: Any) -> None:
        """Terms along the first axis."""
        terms = np.asarray(terms, float)
        self.count += len(terms)
        self.total, self.square = self.total + terms.sum(0), self.square + (terms**2).sum(0)

    def estimate(self) -> Estimate:
        mean = self.total / self.count
        spread = np.maximum(self.square / self.count - mean**2, 0)
        return Estimate(np.asarray(mean), np.asarray(np.sqrt(spread / self.count)))


def batches(samples: int, pixels: int) -> Iterator[tuple[int, int]]:
    """Number and size of the batches in which this many samples of this many pixels are drawn."""
    left = checked_count("theory", samples, 2)
    size = max(min(left, CHUNK // pixels), 2)
    index = 0
    while left > 0:
        yield index, min(size, left)
        left, index = left - size, index + 1


def draw(stimulus: AbstractStimulus, seed: int, stream: int, index: int, n: int) -> jax.Array:
    """One batch of samples, pixels flattened, in float64; ``stream`` keeps the classes of a task apart."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), stream), index)
    return jnp.asarray(stimulus.sample(key, n), jnp.float64).reshape(n, -1)
