"""A number or array with its standard error, which reckons like the array of its values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._settings import checked_count
from ..stimuli import AbstractStimulus

CHUNK = 2**22
"""Pixels drawn at a time: 16 MB in float32."""


@dataclass(frozen=True, eq=False)
class Estimate(np.lib.mixins.NDArrayOperatorsMixin):
    """``value`` with ``standard_error``: 0 where the value is exact, NaN where it is an approximation of unknown error.

    NumPy functions and operators see the value alone.
    """

    value: np.ndarray
    standard_error: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype=dtype) if copy else np.asarray(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [i.value if isinstance(i, Estimate) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getitem__(self, index: Any) -> "Estimate":
        return Estimate(np.asarray(self.value[index]), np.asarray(self.standard_error[index]))

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


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
