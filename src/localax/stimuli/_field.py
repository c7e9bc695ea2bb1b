"""Gaussian fields with a given correlation: white noise times a square root of the covariance.

Three roots, the fastest for each shape (measured on one thread): a symmetric circulant matrix up to 128 pixels, two
small matrices for a separable torus, and beyond that noise drawn directly in Fourier space, one inverse FFT a batch.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._math import circulant
from .._types import Float, Key, Leaf, Samples
from ._covariances import AbstractCovariance, valid_spectrum

DENSE = 128
"""Up to this many pixels a side a matrix product beats the FFT."""


class AbstractField(eqx.Module):
    """A sampler of zero-mean Gaussian fields."""

    @abc.abstractmethod
    def draw(self, key: Key, n: int, dtype) -> Samples: ...

    @abc.abstractmethod
    def colour(self, noise: Samples) -> Samples:
        """White noise times the square root of the covariance."""


class MatrixField(AbstractField):
    """Noise times one matrix, the pixels of any shape flattened."""

    root: Leaf
    shape: tuple[int, ...] = eqx.field(static=True)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return self.colour(jax.random.normal(key, (n, *self.shape), dtype))

    def colour(self, noise: Samples) -> Samples:
        flat = noise.reshape(noise.shape[0], -1)
        return (flat @ jnp.asarray(self.root, noise.dtype)).reshape(noise.shape)


class SeparableField(AbstractField):
    """A torus whose covariance is a product: noise between two matrices."""

    rows: Leaf
    columns: Leaf

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return self.colour(jax.random.normal(key, (n, self.rows.shape[0], self.columns.shape[0]), dtype))

    def colour(self, noise: Samples) -> Samples:
        return jnp.asarray(self.rows, noise.dtype) @ noise @ jnp.asarray(self.columns, noise.dtype)


class SpectralField(AbstractField):
    """Noise drawn as Fourier coefficients, and one inverse real FFT.

    The first column of the half spectrum and, at even width, the last hold coefficients that are their own mirror
    images: only the real part of what they transform to survives, so they carry a factor sqrt(2).
    """

    amplitude: Leaf
    shape: tuple[int, ...] = eqx.field(static=True)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        amplitude = jnp.asarray(self.amplitude, dtype)
        # Two keys, and each part scaled while it is still real: one pass over the noise, a tenth off the whole draw.
        parts = [amplitude * jax.random.normal(part, (n, *amplitude.shape), dtype) for part in jax.random.split(key)]
        coefficients = jax.lax.complex(*parts)
        if len(self.shape) == 2:
            coefficients = jnp.fft.ifft(coefficients, axis=1)
        width = self.shape[-1]
        own = np.zeros(coefficients.shape[-1], bool)
        own[0] = True
        own[-1] |= width % 2 == 0
        coefficients = jnp.where(own, jnp.sqrt(jnp.array(2, dtype)) * coefficients.real, coefficients)
        return jnp.fft.irfft(coefficients, width, axis=-1)

    def colour(self, noise: Samples) -> Samples:
        axes = tuple(range(1, noise.ndim))
        unit = jnp.asarray(self.amplitude, noise.dtype) * math.sqrt(2 / math.prod(self.shape))
        return jnp.fft.irfftn(jnp.fft.rfftn(noise, axes=axes) * unit, s=self.shape, axes=axes)


def spectral_field(eigenvalues: Float[np.ndarray, "*pixels"]) -> SpectralField:
    """A field from its full spectrum."""
    half = eigenvalues[..., : eigenvalues.shape[-1] // 2 + 1]
    return SpectralField(np.sqrt(half * eigenvalues.size / 2), eigenvalues.shape)


def _root(row: Float[np.ndarray, " n"], origin: str) -> Float[np.ndarray, "n n"]:
    return np.asarray(circulant(np.fft.ifft(np.sqrt(valid_spectrum(row, origin))).real))


def correlated_field(covariance: AbstractCovariance, shape: tuple[int, ...], origin: str) -> AbstractField:
    """The fastest sampler for a correlation on a ring or torus."""
    factors = covariance.factors(shape)
    if factors is not None and len(shape) == 2 and max(shape) <= DENSE:
        return SeparableField(_root(factors[0], origin), _root(factors[1], origin))
    return row_field(covariance.row(shape), origin)


def row_field(row: Float[np.ndarray, "*pixels"], origin: str) -> AbstractField:
    """A sampler from the correlation with pixel 0."""
    if row.ndim == 1 and row.size <= DENSE:
        return MatrixField(_root(row, origin), row.shape)
    return spectral_field(valid_spectrum(row, origin))


def matrix_field(matrix: Float[np.ndarray, "n n"], shape: tuple[int, ...]) -> MatrixField:
    """A sampler from any covariance matrix; its negative rounding is clipped."""
    values, vectors = np.linalg.eigh(matrix)
    return MatrixField((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T, shape)


__all__ = ["DENSE", "AbstractField", "correlated_field", "matrix_field", "row_field"]
