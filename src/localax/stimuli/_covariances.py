"""Correlation of every pixel with pixel 0 on a ring or torus.

A covariance gives one vector per axis; a torus takes the product over its two axes. The vector must have a
non-negative Fourier transform: what is negative by no more than ``ROUNDING`` is clipped to 0, which changes no
correlation by more than that, and anything worse is refused.
"""

import abc
from typing import Annotated

import equinox as eqx
import numpy as np

from .._errors import SettingError, setting_error
from .._math import ring_distance, spectrum
from .._text import readable
from .._types import Float, Leaf, Row
from ..spec import Setting, Size, checked_size, finite_array, validated

ROUNDING = 1e-6
"""Clipped eigenvalues are at most this negative: less than float32 samples resolve."""

LENGTHSCALE = Setting("correlation length in pixels", gt=0, typical=(0.3, 5))


class AbstractCovariance(eqx.Module):
    """Correlations with pixel 0, 1 at distance 0."""

    __repr__ = readable

    @abc.abstractmethod
    def factors(self, shape: tuple[int, ...]) -> tuple[Row, ...] | None:
        """One vector per axis of ``shape`` whose outer product is the correlation, or None where it is no product."""

    def row(self, shape: tuple[int, ...]) -> Row:
        """Correlation of every pixel of ``shape`` with pixel 0."""
        factors = self.factors(shape)
        if factors is None:
            raise TypeError(f"{type(self).__name__} must define row or factors")
        return factors[0] if len(shape) == 1 else np.multiply.outer(factors[0], factors[1])


class AbstractProduct(AbstractCovariance):
    """The same function of ring distance along each axis."""

    @abc.abstractmethod
    def along(self, n: int) -> Row:
        """Correlation with pixel 0 of a ring of ``n`` pixels."""

    def factors(self, shape: tuple[int, ...]) -> tuple[Row, ...]:
        with np.errstate(over="ignore"):  # a distance of very many tiny lengthscales is infinite, its correlation 0
            return tuple(self.along(side) for side in shape)


class SquaredExponential(AbstractProduct):
    """exp(-d^2/lengthscale^2) in the ring distance d, as in the paper; no covariance once it wraps (N < 6 xi)."""

    lengthscale: Annotated[Leaf, LENGTHSCALE]

    def __init__(self, lengthscale):
        (self.lengthscale,) = validated(SquaredExponential, lengthscale=lengthscale)

    def along(self, n: int) -> Row:
        return np.exp(-((ring_distance(n) / self.lengthscale) ** 2))


class PeriodicSquaredExponential(AbstractProduct):
    """The squared exponential summed over all windings of the ring; a covariance at every lengthscale."""

    lengthscale: Annotated[Leaf, LENGTHSCALE]

    def __init__(self, lengthscale):
        (self.lengthscale,) = validated(PeriodicSquaredExponential, lengthscale=lengthscale)

    def along(self, n: int) -> Row:
        if self.lengthscale > n:  # the same sum in Fourier space (Poisson): from k = 4 on its terms are below e^-157
            k = np.arange(1, 4)
            waves = np.cos(2 * np.pi * np.outer(np.arange(n), k) / n)
            row = 1 + 2 * waves @ np.exp(-((np.pi * k * self.lengthscale / n) ** 2))
        else:
            d = np.arange(n)[:, None] + n * np.arange(-8, 9)
            row = np.exp(-((d / self.lengthscale) ** 2)).sum(1)
        return row / row[0]


class Exponential(AbstractProduct):
    """exp(-d/lengthscale) in the ring distance: rough fields, a covariance at every lengthscale."""

    lengthscale: Annotated[Leaf, LENGTHSCALE]

    def __init__(self, lengthscale):
        (self.lengthscale,) = validated(Exponential, lengthscale=lengthscale)

    def along(self, n: int) -> Row:
        return np.exp(-ring_distance(n) / self.lengthscale)


class CosineModulated(AbstractProduct):
    """exp(-d^2/lengthscale^2) cos(2 pi d/period); safest where the period divides the ring."""

    lengthscale: Annotated[Leaf, LENGTHSCALE]
    period: Annotated[Leaf, Setting("pixels per cycle", ge=2, typical=(4, 20))]

    def __init__(self, lengthscale, period):
        self.lengthscale, self.period = validated(CosineModulated, lengthscale=lengthscale, period=period)

    def along(self, n: int) -> Row:
        d = ring_distance(n)
        return np.exp(-((d / self.lengthscale) ** 2)) * np.cos(2 * np.pi * d / self.period)


class Circulant(AbstractCovariance):
    """Any ``vector`` of correlations with pixel 0, one entry per pixel: (pixel) or (row, column)."""

    vector: Leaf

    def __init__(self, vector):
        given, expected = vector, "finite numbers, one per pixel"
        vector = finite_array(Circulant, "vector", given, expected)
        if vector.ndim not in (1, 2) or vector.size == 0:
            raise setting_error(Circulant, "vector", given, expected)
        if abs(vector.flat[0] - 1) > 1e-9:
            raise setting_error(
                Circulant, "vector[0]", float(vector.flat[0]), "1 (divide the vector by its first entry)"
            )
        reflected = np.roll(np.flip(vector), 1, axis=range(vector.ndim))
        if not np.allclose(vector, reflected, atol=1e-9):
            raise setting_error(Circulant, "vector", vector, "the same at distance d and -d")
        self.vector = vector.astype(float)

    def factors(self, shape: tuple[int, ...]) -> None:
        del shape

    def row(self, shape: tuple[int, ...]) -> Row:
        if self.vector.shape != shape:
            raise setting_error(Circulant, "vector", self.vector, f"of shape {shape}, not {self.vector.shape}")
        return np.asarray(self.vector)


def valid_spectrum(row: Row, origin: str) -> Float[np.ndarray, "*pixels"]:
    """The eigenvalues of a correlation with pixel 0, clipped at 0; refused where they are truly negative."""
    eigenvalues = spectrum(row)
    lowest = float(eigenvalues.min())
    if lowest < -ROUNDING:
        raise SettingError(
            f"{origin} is no covariance on {'x'.join(map(str, row.shape))} pixels: its smallest eigenvalue is "
            f"{lowest:.3g}; use a shorter lengthscale, more pixels, or PeriodicSquaredExponential"
        )
    clipped = np.maximum(eigenvalues, 0)
    return clipped * (clipped.size / clipped.sum())


def correlation_row(covariance: AbstractCovariance, size: Size) -> Row:
    """The correlation with pixel 0 that is sampled from: valid, after clipping what is mere rounding."""
    size = checked_size(type(covariance), size)
    row = covariance.row(size if isinstance(size, tuple) else (size,))
    return np.fft.ifftn(valid_spectrum(row, repr(covariance))).real


COVARIANCES = (SquaredExponential, PeriodicSquaredExponential, Exponential, CosineModulated)
