"""What every stimulus is: a law over the pixels of a ring or torus that can be sampled and says its own moments."""

import abc
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._math import dense_circulant
from .._settings import Size, checked_count, wrong
from .._types import Float, Key, Row, Samples
from ._marginals import AbstractMarginal


class AbstractStimulus(eqx.Module):
    """A law over pixels.

    A concrete stimulus has a static field ``size`` and defines ``draw``, ``covariance`` and ``marginal``. Its numeric
    settings are array leaves, so that equal classes stack and run under ``vmap``. What it says of itself is exact, in
    float64, and computed by numpy from concrete numbers; only ``draw`` runs under ``jit``.
    """

    size: eqx.AbstractVar[Size]
    marginal: eqx.AbstractVar[AbstractMarginal]
    """The law of one pixel."""

    @abc.abstractmethod
    def draw(self, key: Key, n: int, dtype: Any) -> Samples:
        """n independent samples; pure, with n and dtype static."""

    @abc.abstractmethod
    def covariance(self) -> Row:
        """Covariance of every pixel with pixel 0: the first row of the (circulant) covariance matrix."""

    @classmethod
    def pair(cls, size: int) -> tuple["AbstractStimulus", "AbstractStimulus"]:
        """A short- and a long-lengthscale example of this stimulus, which every member of ``ALL`` has."""
        raise NotImplementedError(f"{cls.__name__} states no pair of examples of size {size}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.size if isinstance(self.size, tuple) else (self.size,)

    @property
    def shift_invariant(self) -> bool:
        """Whether every circular shift of X has the law of X (S2)."""
        return True

    @property
    def sign_symmetric(self) -> bool:
        """Whether -X has the law of X (S3)."""
        return True

    def mean(self) -> Row:
        """Mean of every pixel."""
        return np.full(self.shape, 0.0 if self.sign_symmetric else self.marginal.mean())

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        """The covariance of all pixels, flattened; for small n, or data that are not periodic."""
        return dense_circulant(self.covariance())

    def sign_correlation(self) -> Row | None:
        """E[sign X_0 sign X_d] where it has a closed form, to check laws whose fourth moment diverges."""
        return None

    def sample(self, key: Key, n: int, *, dtype: Any = jnp.float32) -> Samples:
        """n independent samples from one key, of shape (n, *shape)."""
        n, dtype = checked_count(type(self), n), _checked_dtype(type(self), dtype)
        if dtype == np.float64 and not jax.config.read("jax_enable_x64"):
            raise ValueError("float64 samples need lx.enable_x64(), called before the first array is made")
        return _draw(self, key, n, dtype)


def _checked_dtype(cls: type, dtype: Any) -> np.dtype:
    try:
        known = jnp.dtype(dtype)
    except TypeError as error:
        raise wrong(cls, "dtype", dtype, "float32 or float64") from error
    if dtype is None or known not in (np.float32, np.float64):
        raise wrong(cls, "dtype", dtype, "float32 or float64")
    return known


@functools.partial(jax.jit, static_argnums=(2, 3))
def _draw(stimulus: AbstractStimulus, key: Key, n: int, dtype: Any) -> Samples:
    return stimulus.draw(key, n, dtype)
