"""Stimuli made from other stimuli: the Gaussian with the same covariance, and a filtered version."""

import abc
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._math import circular_convolve, dense_circulant, ring_distance
from .._settings import Setting, Size, finite_array, instance, validated, wrong
from .._types import Float, Key, Leaf, Row, Samples
from ._base import AbstractStimulus
from ._copula import NLGP, Gaussian, Kur
from ._elliptical import Elliptical
from ._field import AbstractField, matrix_field, row_field
from ._ising import Ising
from ._marginals import AbstractMarginal, Numbers, Weighted
from ._pulses import BlockPulse, SinglePulse

INNER = Setting("any stimulus", options=lambda: (Ising, Gaussian, NLGP, Kur, SinglePulse, BlockPulse))


class GaussianPixel(AbstractMarginal):
    """One pixel, each as likely, of a Gaussian field whose pixels have these means and variances."""

    location: Float[np.ndarray, " pixels"]
    power: Float[np.ndarray, " pixels"]

    def mean(self) -> float:
        return float(np.mean(self.location))

    def variance(self) -> float:
        return float(np.mean(self.power) + np.var(self.location))

    def excess_kurtosis(self) -> float:
        apart = self.location - self.mean()
        fourth = np.mean(apart**4 + 6 * apart**2 * self.power + 3 * self.power**2)
        return float(fourth / self.variance() ** 2 - 3)

    def cdf(self, x: Numbers) -> Numbers:
        total = np.zeros(np.shape(x))
        for location, power in zip(self.location, self.power, strict=True):
            total += special.ndtr((x - location) / np.sqrt(power)) if power > 0 else x >= location
        return total / len(self.location)


class GaussianClone(AbstractStimulus):
    """The Gaussian with the mean and covariance of another stimulus: what is left when only two moments count."""

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    field: AbstractField
    amplitude: Leaf
    location: Leaf

    def __init__(self, stimulus: AbstractStimulus):
        self.stimulus = instance(GaussianClone, "stimulus", stimulus, AbstractStimulus, "a stimulus")
        self.size = stimulus.size
        self.location = np.asarray(stimulus.mean())
        power = float(np.mean(self._powers()))
        if power <= 0:
            raise wrong(GaussianClone, "stimulus", stimulus, "a stimulus that varies")
        self.amplitude = np.asarray(np.sqrt(power))
        if stimulus.shift_invariant:
            self.field = row_field(stimulus.covariance() / power, f"the covariance of {type(stimulus).__name__}")
        else:
            self.field = matrix_field(stimulus.covariance_matrix() / power, stimulus.shape)

    def _powers(self) -> Float[np.ndarray, " pixels"]:
        """The variance of every pixel, or of one where all are alike."""
        if self.stimulus.shift_invariant:
            return self.stimulus.covariance().ravel()[:1]
        return np.diag(self.stimulus.covariance_matrix())

    def draw(self, key: Key, n: int, dtype) -> Samples:
        field = self.field.draw(key, n, dtype) * jnp.asarray(self.amplitude, dtype)
        return field + jnp.asarray(self.location, dtype)

    def covariance(self) -> Row:
        return self.stimulus.covariance()

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        return self.stimulus.covariance_matrix()

    @property
    def marginal(self) -> AbstractMarginal:
        powers = self._powers()
        return GaussianPixel(np.asarray(self.location).ravel()[: len(powers)], powers)

    def mean(self) -> Row:
        return np.asarray(self.location)

    @property
    def shift_invariant(self) -> bool:
        return self.stimulus.shift_invariant

    @property
    def sign_symmetric(self) -> bool:
        return bool(np.all(self.location == 0))

    @classmethod
    def pair(cls, size: int) -> tuple["GaussianClone", "GaussianClone"]:
        short, long = Ising.pair(size)
        return cls(short), cls(long)


class AbstractKernel(eqx.Module):
    """A filter on a ring or torus, its centre at pixel 0."""

    @abc.abstractmethod
    def row(self, shape: tuple[int, ...]) -> Row: ...


class CentreSurround(AbstractKernel):
    """A narrow Gaussian less a wide one, each of unit sum: on-centre, off-surround."""

    centre: Annotated[Leaf, Setting("width of the centre in pixels", gt=0, typical=(0.5, 2))]
    surround: Annotated[Leaf, Setting("width of the surround in pixels", gt=0, typical=(2, 6))]
    balance: Annotated[Leaf, Setting("weight of the surround", ge=0, le=2, typical=(0, 1))]

    def __init__(self, centre=1.0, surround=3.0, balance=1.0):
        self.centre, self.surround, self.balance = validated(
            CentreSurround, centre=centre, surround=surround, balance=balance
        )

    def row(self, shape: tuple[int, ...]) -> Row:
        distance2 = sum(d**2 for d in np.ix_(*(ring_distance(side) for side in shape)))
        narrow, wide = (np.exp(-distance2 / (2 * width**2)) for width in (self.centre, self.surround))
        return narrow / narrow.sum() - self.balance * wide / wide.sum()


class Taps(AbstractKernel):
    """A filter given by its values, the middle one on the pixel itself."""

    values: Leaf

    def __init__(self, values):
        expected = "an AbstractKernel, or finite numbers on one or two axes"
        array = finite_array(Filtered, "kernel", values, expected)
        if array.ndim not in (1, 2):
            raise wrong(Filtered, "kernel", values, expected)
        self.values = array.astype(float)

    def row(self, shape: tuple[int, ...]) -> Row:
        if self.values.ndim != len(shape) or any(t > s for t, s in zip(self.values.shape, shape, strict=True)):
            raise wrong(Filtered, "kernel", self.values, f"no larger than the stimulus, {shape}")
        row = np.zeros(shape)
        row[tuple(slice(side) for side in self.values.shape)] = self.values
        return np.roll(row, [-(side // 2) for side in self.values.shape], axis=range(len(shape)))


class Filtered(AbstractStimulus):
    """Any stimulus convolved with a kernel on its ring or torus, scaled back to a mean variance of 1."""

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    kernel: Annotated[AbstractKernel, Setting("the filter", options=lambda: (CentreSurround,))]
    taps: Leaf

    def __init__(self, stimulus: AbstractStimulus, kernel):
        self.stimulus = instance(Filtered, "stimulus", stimulus, AbstractStimulus, "a stimulus")
        self.size = stimulus.size
        self.kernel = kernel if isinstance(kernel, AbstractKernel) else Taps(kernel)
        row = self.kernel.row(stimulus.shape)
        exact = stimulus.shift_invariant
        power = _filtered_row(stimulus, row).flat[0] if exact else np.diag(_filtered_matrix(stimulus, row)).mean()
        if power <= 1e-12:
            raise wrong(Filtered, "kernel", kernel, "a filter that leaves some of the stimulus")
        self.taps = row / np.sqrt(power)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return circular_convolve(self.stimulus.draw(key, n, dtype), jnp.asarray(self.taps, dtype))

    def covariance(self) -> Row:
        if self.shift_invariant:
            return _filtered_row(self.stimulus, np.asarray(self.taps))
        return self.covariance_matrix()[0].reshape(self.shape)

    def mean(self) -> Row:
        return np.fft.ifftn(np.fft.fftn(self.stimulus.mean()) * np.fft.fftn(self.taps)).real

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        return _filtered_matrix(self.stimulus, np.asarray(self.taps))

    @property
    def marginal(self) -> AbstractMarginal:
        """Exact where filtering keeps the family (Gaussian, elliptical); else estimated from a pixel of 2^17 draws."""
        if isinstance(self.stimulus, Elliptical | Gaussian):
            return self.stimulus.marginal
        draws = np.asarray(self.sample(jax.random.key(2**17), 2**17))  # a key that nobody else is likely to use
        return Weighted(draws.reshape(len(draws), -1)[:, 0], estimated=True)

    @property
    def shift_invariant(self) -> bool:
        return self.stimulus.shift_invariant

    @property
    def sign_symmetric(self) -> bool:
        return self.stimulus.sign_symmetric

    @classmethod
    def pair(cls, size: int) -> tuple["Filtered", "Filtered"]:
        short, long = NLGP.pair(size)
        return cls(short, CentreSurround()), cls(long, CentreSurround())


def _filtered_row(stimulus: AbstractStimulus, kernel: Row) -> Row:
    power = np.abs(np.fft.fftn(kernel)) ** 2
    return np.fft.ifftn(np.fft.fftn(stimulus.covariance()) * power).real


def _filtered_matrix(stimulus: AbstractStimulus, kernel: Row) -> Float[np.ndarray, "n n"]:
    operator = dense_circulant(kernel)
    return operator @ stimulus.covariance_matrix() @ operator.T
