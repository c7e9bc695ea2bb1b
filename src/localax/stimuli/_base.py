"""What every stimulus is: a law over the pixels of a ring or torus that can be sampled and says its own moments."""

import abc
import contextlib
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._math import INSTANT, dense_circulant
from .._system import memory
from .._text import readable
from .._types import Float, Key, Row, Samples
from ..spec import Size, checked_count
from ._marginals import AbstractMarginal, Weighted, left_out
from ._normal_maps import Normal
from ._support import Support

WRAP = "; wrap samples of your own in lx.stimuli.Empirical(samples)"
"""What is said where an array is given for a stimulus."""


class AbstractStimulus(eqx.Module):
    """A law over pixels.

    A concrete stimulus has a static field ``size`` and defines ``draw``, ``covariance`` and ``marginal``. Its numeric
    settings are array leaves, so that equal classes stack and run under ``vmap``. What it says of itself is exact, in
    float64, and computed by numpy from concrete numbers; only ``draw`` runs under ``jit``.
    """

    __repr__ = readable

    size: eqx.AbstractVar[Size]
    marginal: eqx.AbstractVar[AbstractMarginal]
    """The law of one pixel."""

    @abc.abstractmethod
    def draw(self, key: Key, n: int, dtype: Any) -> Samples:
        """``n`` independent samples (n, *shape) from one ``key``, in ``dtype``; pure, with n and dtype static."""

    @abc.abstractmethod
    def covariance(self) -> Row:
        """Covariance of every pixel with pixel 0: the first row of the (circulant) covariance matrix."""

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

    def pixel_variances(self) -> Row:
        """The variance of every pixel."""
        if self.shift_invariant:
            return np.full(self.shape, self.covariance().flat[0])
        return np.diag(self.covariance_matrix()).reshape(self.shape)

    def sign_correlation(self) -> Row | None:
        """E[sign X_0 sign X_d] where it has a closed form, to check laws whose fourth moment diverges."""
        return None

    # What the theory asks: whoever knows more of a law than its covariance says so here, and gets more closed forms.

    @property
    def is_gaussian(self) -> bool:
        """Whether all pixels are jointly Gaussian, with any mean."""
        return False

    def elliptical_constant(self) -> float | None:
        """E|<w,X>|/sd(<w,X>) where it is the same for every w, as where contours are ellipses about 0; else None."""
        if not self.is_gaussian:
            return None
        centred = np.all(np.abs(self.mean()) <= 1e-12 * np.sqrt(np.max(self.pixel_variances())))
        return math.sqrt(2 / math.pi) if centred else None

    def support(self) -> Support | None:
        """All states with their probabilities; None where they are infinitely or too many (2^20) to list."""
        return None

    def ising_coupling(self) -> float | None:
        """J, where this is a ring of spins +-1 with probability proportional to exp(J sum x_i x_(i+1))."""
        return None

    def multiple_of(self) -> tuple["AbstractStimulus", float]:
        """A stimulus and a factor other than 0 by which it is multiplied to give this one: itself and 1 unless told.

        Where the factor is random, positive and independent of the stimulus, its mean: that is all that gates see.
        """
        return self, 1.0

    def one_pixel_input(self) -> Row | None:
        """E[1(X_0 >= 0) X_d] in closed form: here for elliptical laws, and where pixels are +-s; else None."""
        constant, row = self.elliptical_constant(), self.covariance()
        if constant is not None:
            return constant / 2 * row / np.sqrt(row.flat[0])
        atoms = self.marginal.atoms()
        if atoms is None or np.ptp(np.abs(atoms[0])) > 0 or not self.sign_symmetric:
            return None
        return row / (2 * np.abs(atoms[0][0]))

    def standard_marginal(self) -> AbstractMarginal:
        """The law of a pixel in units of its own standard deviation, up to scale: the marginal where all are alike."""
        return Normal() if self.is_gaussian else self.marginal

    def dataset(self) -> Float[np.ndarray, "n *pixels"] | None:
        """The samples of a finite data set, each once; None for a law."""
        return None

    def sketch(self) -> "AbstractStimulus":
        """A stimulus like this one for pictures: itself unless its moments take long, then some draws, at once."""
        return self

    def jackknife(self, count: int = 20) -> tuple[AbstractMarginal, ...]:
        """The laws of a pixel with one of ``count`` groups of samples left out; none where the law is exact."""
        data = self.dataset()
        if data is None:
            return self.marginal.jackknife(count)
        return tuple(Weighted(data[kept]) for kept in left_out(len(data), count))

    def sample(self, key: Key, n: int, *, dtype: Any = jnp.float32, instant: bool = False) -> Samples:
        """``n`` independent samples from one ``key``, of shape (n, *shape); float64 where ``dtype`` asks for it.

        ``instant``: for a picture; a new size is there in a fifth of the time, many samples take longer.
        """
        key, n, dtype = checked_key(type(self), key), checked_count(type(self), n), _checked_dtype(type(self), dtype)
        most = memory() // (math.prod(self.shape) * dtype.itemsize)
        if n > most:
            raise setting_error(type(self), "n", n, f"at most {most:,}, what the memory of this machine holds")
        with jax.enable_x64(True) if dtype == np.float64 else contextlib.nullcontext():
            return (_draw_instantly if instant else _draw)(self, key, n, dtype)


def checked_stimulus(cls: type | str, stimulus: Any) -> AbstractStimulus:
    """The ``stimulus``, if it is one; an array in its place is told what to become. ``cls``: whom complaints name."""
    if isinstance(stimulus, AbstractStimulus):
        return stimulus
    if hasattr(stimulus, "dtype"):
        raise setting_error(cls, "stimulus", f"an array of shape {np.shape(stimulus)}", f"a stimulus{WRAP}")
    raise setting_error(cls, "stimulus", stimulus, "a stimulus")


def checked_key(cls: type | str, key: Any) -> Any:
    """A JAX key, of the new or the old kind."""
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", None)
    new = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) and shape == ()
    if not new and not (dtype == np.uint32 and shape == (2,)):
        raise setting_error(cls, "key", key, "a JAX key such as jax.random.key(0)")
    return key


def _checked_dtype(cls: type, dtype: Any) -> np.dtype:
    try:
        known = jnp.dtype(dtype)
    except TypeError as error:
        raise setting_error(cls, "dtype", dtype, "float32 or float64") from error
    if dtype is None or known not in (np.float32, np.float64):
        raise setting_error(cls, "dtype", dtype, "float32 or float64")
    return known


@functools.partial(jax.jit, static_argnums=(2, 3))
def _draw(stimulus: AbstractStimulus, key: Key, n: int, dtype: Any) -> Samples:
    return stimulus.draw(key, n, dtype)


@functools.partial(jax.jit, static_argnums=(2, 3), compiler_options=INSTANT)
def _draw_instantly(stimulus: AbstractStimulus, key: Key, n: int, dtype: Any) -> Samples:
    return stimulus.draw(key, n, dtype)
