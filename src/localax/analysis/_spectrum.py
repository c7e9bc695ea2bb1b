"""Fields in the real Fourier basis: which frequencies they hold, and how position and frequency trade off."""

import math

import jax.numpy as jnp
import numpy as np

from .._types import Float, Int
from ._localization import width
from ._pixels import Field, Numbers, compiled, coordinates, field, flat, scaled


@compiled
def spectrum(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """Power of each frequency in the orthogonal real Fourier basis (Eqs. 33 to 35 of the network notes, with B-08).

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).

    Ring of n pixels: n//2 + 1 numbers, cosine and sine of one frequency together. Torus: height x (width//2
    + 1), where row ky stands for ky or ky - height, and a wave and its mirror image (-ky, -kx) share one
    entry. The powers add up to sum w^2. A zero field has zero power; one that is not finite has NaN.
    """
    w = field(w, ndim)
    shape = w.shape[-ndim:]
    axes = tuple(range(-ndim, 0))
    finite = jnp.all(jnp.isfinite(w), axis=axes, keepdims=True)
    power = jnp.abs(jnp.fft.rfftn(jnp.where(finite, w, jnp.nan), axes=axes)) ** 2
    return power * jnp.asarray(_multiplicity(shape) / math.prod(shape), w.dtype)


def _multiplicity(shape: tuple[int, ...]) -> Float[np.ndarray, "*frequencies"]:
    """How many terms of the complex transform stand behind each entry of the half that is kept."""
    *rows, n = shape
    count = np.full((*rows, n // 2 + 1), 2.0)
    for column in {0, n // 2} if n % 2 == 0 else {0}:
        index = np.indices(rows)
        mirror = np.array([(-i) % side for i, side in zip(index, rows, strict=True)])
        count[..., column] = 1 + np.sign((mirror - index).sum(axis=0))
    return count


@compiled
def dominant_frequency(w: Field, *, ndim: int = 1, constant: bool = True) -> Int[Numbers, "..."]:
    """Frequency of largest power, in cycles round the ring; the lowest of several.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    On a torus (ky, kx) with kx >= 0, a wave and its mirror image being the same. ``constant=False`` leaves
    frequency 0 out. -1 (on a torus, in both places) for a field that is zero everywhere or not finite.
    """
    w = field(w, ndim)
    shape = w.shape[-ndim:]
    power = flat(spectrum(scaled(w, ndim), ndim=ndim), ndim)
    index = jnp.argmax(power if constant or power.shape[-1] == 1 else power.at[..., 0].set(-1), axis=-1)
    undefined = jnp.isnan(power[..., 0])
    if ndim == 1:
        return jnp.where(undefined, -1, index)
    ky, kx = jnp.moveaxis(coordinates(index, (shape[0], shape[1] // 2 + 1)), -1, 0)
    signed = jnp.stack([jnp.where(ky > shape[0] // 2, ky - shape[0], ky), kx], axis=-1)
    return jnp.where(undefined[..., None], -1, signed)


@compiled
def uncertainty(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """sigma_x sigma_k ("Uncertainty Principle" of the network notes): 1/2, the least on the line, for a Gaussian bump.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).

    sigma_x is ``width``; sigma_k, in radians a pixel, is the root mean square frequency, since the spectrum
    of a real field is even and its mean frequency 0. Both are means over the axes, which keeps the bound on
    a torus. The bound is that of the real line: it holds for fields wider than a pixel and narrower than
    the ring, while one pixel alone (sigma_x = 0) and a flat field (sigma_k = 0) both give 0. NaN where
    ``ipr`` is.
    """
    w = field(w, ndim)
    shape = w.shape[-ndim:]
    power = flat(spectrum(scaled(w, ndim), ndim=ndim), ndim)
    axes = [np.fft.fftfreq(n) for n in shape[:-1]] + [np.fft.rfftfreq(shape[-1])]
    square = sum(k**2 for k in np.meshgrid(*axes, indexing="ij")) * (2 * np.pi) ** 2 / ndim
    sigma_k = jnp.sqrt(power @ jnp.asarray(np.ravel(square), w.dtype) / power.sum(axis=-1))
    return width(w, ndim=ndim) * sigma_k
