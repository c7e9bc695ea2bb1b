"""How local is a field, and where? All but the peak see a field only through its energy w^2 / sum w^2."""

import jax.numpy as jnp
import numpy as np

from .._types import Array, Float, Int
from ._pixels import Field, Numbers, compiled, energy, field, flat, scaled


@compiled
def ipr(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Inverse participation ratio sum w^4 / (sum w^2)^2 (the paper A.3): 1/n for a flat field, 1 for one pixel.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    NaN for a field that is zero everywhere or not finite.
    """
    return jnp.sum(flat(energy(field(w, ndim), ndim), ndim) ** 2, axis=-1)


@compiled
def entropy(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Shannon entropy of w^2 / sum w^2, in nats: log n for a flat field, 0 for a single pixel.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    Never less than -log ipr(w), which is the Renyi entropy of order 2. NaN where ``ipr`` is.
    """
    p = flat(energy(field(w, ndim), ndim), ndim)
    return -jnp.sum(p * jnp.log(jnp.where(p == 0, 1, p)), axis=-1)


@compiled
def peak(w: Field, *, ndim: int = 1) -> Int[Numbers, "..."]:
    """Pixel of largest magnitude, the first of several.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    On a torus the index counts row by row; ``jnp.unravel_index`` gives row and column. -1, which is no pixel,
    for a field that is zero everywhere or not finite.
    """
    x = flat(scaled(field(w, ndim), ndim), ndim)
    return jnp.where(jnp.isnan(x[..., 0]), -1, jnp.argmax(jnp.abs(x), axis=-1))


@compiled
def peak_sign(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Sign of the field at its peak, +1 or -1; NaN where there is no peak.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    """
    w = field(w, ndim)
    at = jnp.maximum(peak(w, ndim=ndim), 0)
    return jnp.sign(jnp.take_along_axis(flat(scaled(w, ndim), ndim), at[..., None], axis=-1)[..., 0])


@compiled
def centre(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Position, between pixels, about which w^2 spreads least: a number on a ring, (row, column) on a torus.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    Distances go the short way round. NaN where ``ipr`` is; arbitrary where w^2 has no centre (a flat field).
    """
    means, _ = _moments(field(w, ndim), ndim)
    return means[0] if ndim == 1 else jnp.stack(means, axis=-1)


@compiled
def width(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Root mean square distance, in pixels, of the energy w^2 from its ``centre``, the short way round.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    On a torus the mean over the two axes, so that a round bump is as wide as its section on a ring. A bump
    exp(-x^2 / 2 s^2) has width s / sqrt 2, a flat ring sqrt((n^2 - 1) / 12). NaN where ``ipr`` is.
    """
    _, variances = _moments(field(w, ndim), ndim)
    return jnp.sqrt(sum(variances) / ndim)


def _moments(w: Float[Array, "..."], ndim: int) -> tuple[list[Float[Array, "..."]], list[Float[Array, "..."]]]:
    """Circular means and variances of the energy along every axis."""
    p = energy(w, ndim)
    marginals = [p] if ndim == 1 else [p.sum(-1), p.sum(-2)]
    pairs = [_circular_moments(m) for m in marginals]
    return [mean for mean, _ in pairs], [variance for _, variance in pairs]


def _circular_moments(p: Float[Array, "... n"]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean and variance of a law on a ring: cut open where that makes the variance least (Frechet mean).

    The angle of sum p exp(i x) would do for one bump, but is rounding noise for any field of period n/2 or
    less.
    """
    n = p.shape[-1]
    pixel = np.arange(n)
    offset = (pixel + n // 2) % n - n // 2
    cut = jnp.argmin(_correlate(p, offset**2) - _correlate(p, offset) ** 2, axis=-1)[..., None]
    # The transform only chooses the cut: in float32 its rounding would give one pixel alone a width.
    opened = ((pixel - cut + n // 2) % n - n // 2).astype(p.dtype)
    mean = jnp.sum(p * opened, axis=-1, keepdims=True)
    variance = jnp.sum(p * (opened - mean) ** 2, axis=-1)
    return ((cut + mean) % n)[..., 0], variance


def _correlate(p: Float[Array, "... n"], offset: np.ndarray) -> Float[Array, "... n"]:
    """Expectation of the offset from every pixel."""
    kernel = jnp.conj(jnp.fft.rfft(jnp.asarray(offset, p.dtype)))
    return jnp.fft.irfft(jnp.fft.rfft(p) * kernel, n=p.shape[-1])
