"""The best single wave, and how much of the field it leaves unexplained (Figure 4 of the paper)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._text import readable
from .._types import Array, Float, Int
from ._pixels import Field, Numbers, compiled, each, field, scaled
from ._spectrum import dominant_frequency


class SinusoidFit(eqx.Module):
    """``offset + amplitude cos(2 pi frequency x / n + phase)``, with x the pixel and n the size of the ring.

    On a torus the frequency is (ky, kx) and the angle 2 pi (ky y / height + kx x / width) + phase.
    ``field`` is the fit itself, of the field's shape; ``error`` is the relative l2 error |w - field| / |w|.
    """

    __repr__ = readable

    amplitude: Float[Numbers, "..."]
    frequency: Int[Numbers, "..."]
    phase: Float[Numbers, "..."]
    offset: Float[Numbers, "..."]
    field: Float[Numbers, "..."]
    error: Float[Numbers, "..."]


@compiled
def fit_sinusoid(w: Field, *, ndim: int = 1, offset: bool = True) -> SinusoidFit:
    """The sinusoid that is nearest to the field in l2, of a whole number of cycles.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    With ``offset`` (the default) the wave has at least one cycle and a free constant is added.
    Without, it is one pure mode; the constant, as the mode of frequency 0, takes part ("pure constant").
    Waves of different frequency are orthogonal on the ring, so the largest power wins and nothing is
    searched. A field that is zero everywhere or not finite gives NaN, and frequency -1.
    """
    return each(lambda x: _fit(x, offset), ndim, field(w, ndim))


def _fit(w: Float[Array, "*pixels"], offset: bool) -> SinusoidFit:
    top, x = jnp.max(jnp.abs(w)), scaled(w, w.ndim)
    offset = offset and w.size > 1
    frequency = dominant_frequency(x, ndim=w.ndim, constant=not offset)
    transform = jnp.fft.fftn(x, norm="forward")
    wave, mirror = (tuple(jnp.atleast_1d(s * frequency) % np.array(w.shape)) for s in (1, -1))
    alone = jnp.all(jnp.array(wave) == jnp.array(mirror))
    coefficient = transform[wave] * jnp.where(alone, 1, 2)
    mean = jnp.mean(x) * offset
    kept = jnp.zeros_like(transform).at[wave].set(transform[wave]).at[mirror].set(transform[mirror])
    nearest = jnp.fft.ifftn(kept, norm="forward").real + mean
    error = jnp.linalg.norm((x - nearest).ravel()) / jnp.linalg.norm(x.ravel())
    return SinusoidFit(
        amplitude=top * jnp.abs(coefficient),
        frequency=frequency,
        phase=jnp.angle(coefficient),
        offset=top * mean,
        field=top * nearest,
        error=error,
    )
