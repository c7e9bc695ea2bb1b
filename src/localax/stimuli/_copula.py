"""Gaussian copulas: a correlated Gaussian field, pushed pixel by pixel through the map of a marginal.

NLGP, Kur and the Gaussian are fillings of this one form; the covariance of the result is a function of the latent
correlation that the marginal knows (arcsin law, or a Hermite series).
"""

from typing import Annotated

import equinox as eqx
import numpy as np

from .._types import Key, Leaf, Row, Samples
from ..spec import Number, Setting, Size, SizeField, instance, validated
from ._base import AbstractStimulus
from ._covariances import (
    COVARIANCES,
    LENGTHSCALE,
    AbstractCovariance,
    Circulant,
    SquaredExponential,
    correlation_row,
    valid_spectrum,
)
from ._field import AbstractField, correlated_field
from ._normal_maps import EXPONENT, GAIN, MARGINALS, AbstractNormalMap, Algebraic, Erf, Normal

BETWEEN = Setting("correlation of the Gaussian field", options=lambda: COVARIANCES, parameter="covariance")


class AbstractCopula(AbstractStimulus):
    """A Gaussian field behind a marginal."""

    size: eqx.AbstractVar[Size]
    latent: eqx.AbstractVar["Latent"]
    marginal: eqx.AbstractVar[AbstractNormalMap]

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return self.marginal.from_normal(self.latent.field.draw(key, n, dtype))

    def covariance(self) -> Row:
        return self.marginal.correlation(np.asarray(self.latent.row))

    def sign_correlation(self) -> Row | None:
        return 2 / np.pi * np.arcsin(np.clip(self.latent.row, -1, 1)) if self.marginal.symmetric else None

    @property
    def sign_symmetric(self) -> bool:
        return self.marginal.symmetric

    @property
    def is_gaussian(self) -> bool:
        return self.marginal.is_gaussian

    def one_pixel_input(self) -> Row:
        return self.marginal.gated(np.clip(self.latent.row, -1, 1))


class Latent(eqx.Module):
    """The Gaussian field behind a copula: its correlation with pixel 0, and its sampler."""

    row: Leaf
    field: AbstractField

    def __init__(self, size: Size, covariance: AbstractCovariance):
        self.row = correlation_row(covariance, size)
        self.field = correlated_field(covariance, self.row.shape, type(covariance).__name__)


class Copula(AbstractCopula):
    """A Gaussian field with any circulant covariance behind any marginal, variance 1."""

    size: SizeField = eqx.field(static=True)
    between: Annotated[AbstractCovariance, BETWEEN]
    latent: Latent
    marginal: Annotated[AbstractNormalMap, Setting("law of one pixel", options=lambda: MARGINALS)]

    def __init__(self, size: Size, covariance: AbstractCovariance, marginal: AbstractNormalMap):
        (self.size,) = validated(Copula, size=size)
        expected = "a covariance, such as Exponential(2)"
        self.between = instance(Copula, "covariance", covariance, AbstractCovariance, expected)
        self.marginal = instance(Copula, "marginal", marginal, AbstractNormalMap, "a marginal, such as Uniform()")
        self.latent = Latent(self.size, covariance)


class Gaussian(AbstractCopula):
    """A Gaussian field with squared exponential correlation."""

    size: SizeField = eqx.field(static=True)
    lengthscale: Annotated[Leaf, LENGTHSCALE]
    latent: Latent
    marginal: Normal

    def __init__(self, size: Size, lengthscale):
        self.size, self.lengthscale = validated(Gaussian, size=size, lengthscale=lengthscale)
        self.latent = Latent(self.size, SquaredExponential(lengthscale))
        self.marginal = Normal()


class NLGP(AbstractCopula):
    """Nonlinear Gaussian process erf(gain Z)/norm (the paper's Eq. 3): Gaussian at small gain, +-1 at large gain."""

    size: SizeField = eqx.field(static=True)
    lengthscale: Annotated[Leaf, LENGTHSCALE]
    gain: Annotated[Leaf, GAIN]
    latent: Latent
    marginal: Erf

    def __init__(self, size: Size, lengthscale, gain):
        self.size, self.lengthscale, self.gain = validated(NLGP, size=size, lengthscale=lengthscale, gain=gain)
        self.latent = Latent(self.size, SquaredExponential(lengthscale))
        self.marginal = Erf(gain)


class Kur(AbstractCopula):
    """Controllable kurtosis (the paper's Eq. 4): excess kurtosis infinite for k <= 4, 0 at k = 5.89, then to -1.2."""

    size: SizeField = eqx.field(static=True)
    lengthscale: Annotated[Leaf, LENGTHSCALE]
    k: Annotated[Leaf, EXPONENT]
    latent: Latent
    marginal: Algebraic

    def __init__(self, size: Size, lengthscale, k):
        self.size, self.lengthscale, self.k = validated(Kur, size=size, lengthscale=lengthscale, k=k)
        self.latent = Latent(self.size, SquaredExponential(lengthscale))
        self.marginal = Algebraic(k)


def latent_covariance(marginal: AbstractNormalMap, wanted) -> Circulant:
    """The latent correlation behind which ``marginal`` gives the ``wanted`` covariance with pixel 0 (variance 1).

    Refused where a single correlation is out of the marginal's reach, or where the latent correlations that would
    be needed are together no covariance.
    """
    target = Circulant(wanted)  # checks the form
    latent = np.asarray(marginal.latent_correlation(np.asarray(target.vector)), float)
    latent.flat[0] = 1.0
    valid_spectrum(latent, f"the latent correlation that {type(marginal).__name__} would need")
    return Circulant(latent)


def gain_from_ig22(gain: Number) -> float:
    """The gain of this package for a ``gain`` in the convention of Ingrosso and Goldt 2022, erf(g z / sqrt 2)."""
    return float(gain / np.sqrt(2))
