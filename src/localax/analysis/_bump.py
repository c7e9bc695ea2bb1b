"""What a field on hypercube data is instead of a Gabor: one pixel on top of an exponential (C5)."""

import functools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._text import readable
from .._types import Array, Float, Int
from ._least_squares import coefficients, fit, goodness
from ._localization import centre, peak
from ._pixels import Field, Numbers, compiled, coordinates, each, field, scaled, wrap


class BumpFit(eqx.Module):
    """``offset + delta 1(x = pixel) + amplitude exp(-|x - centre| / length)``, distances the short way round.

    Six parameters on a ring, nine on a torus, as many as ``GaborFit`` has. On a torus ``centre`` and
    ``length`` are (row, column), and the exponent is -sqrt((dy / length_y)^2 + (dx / length_x)^2).
    ``pixel`` is the peak (flat index). ``field`` is the fit itself, of the field's shape; ``error`` and ``r2`` are
    those of ``GaborFit``.
    """

    __repr__ = readable

    delta: Float[Numbers, "..."]
    pixel: Int[Numbers, "..."]
    amplitude: Float[Numbers, "..."]
    centre: Float[Numbers, "..."]
    length: Float[Numbers, "..."]
    offset: Float[Numbers, "..."]
    field: Float[Numbers, "..."]
    error: Float[Numbers, "..."]
    r2: Float[Numbers, "..."]


@compiled
def fit_bump(w: Field, *, ndim: int = 1, steps: int = 60) -> BumpFit:
    """The delta plus exponential nearest to the field in l2, the delta at the peak.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus). **steps**: of the
    descent from each start. The exact steady state on an Ising ring has this form (C5). NaN, and pixel -1, for a field
    that is zero everywhere or not finite.
    """
    return each(functools.partial(_fit, steps=steps), ndim, field(w, ndim))


def _fit(w: Float[Array, "*pixels"], steps: int) -> BumpFit:
    ndim, top, x = w.ndim, jnp.max(jnp.abs(w)), scaled(w, w.ndim)
    pixel = peak(w, ndim=ndim)
    found = fit(lambda shape: _basis(shape, pixel, w.shape), _starts(x, pixel), x.ravel(), steps, keep=3)
    basis = _basis(found, pixel, w.shape)
    delta, amplitude, offset = parts = coefficients(basis, x.ravel())
    nearest = (basis @ parts).reshape(w.shape)
    error, r2 = goodness(x, nearest)
    place, length = found[:ndim] % np.array(w.shape), _length(found[ndim:], max(w.shape))
    return BumpFit(
        delta=top * delta,
        pixel=pixel,
        amplitude=top * amplitude,
        centre=place if ndim == 2 else place[0],
        length=length if ndim == 2 else length[0],
        offset=top * offset,
        field=top * nearest,
        error=error,
        r2=r2,
    )


def _length(log_length: Float[Array, "..."], n: int) -> Float[Array, "..."]:
    """Bounded: below a twentieth of a pixel it is one pixel, beyond ten rings it is flat."""
    return jnp.exp(jnp.clip(log_length, math.log(0.05), math.log(10 * n)))


def _basis(shape: Float[Array, " shape"], pixel: Int[Array, ""], sides: tuple[int, ...]) -> Float[Array, "n 3"]:
    """Shape: centre, then log length, along every axis."""
    ndim = len(sides)
    pixels = np.indices(sides).reshape(ndim, -1).T
    square = jnp.sum((wrap(pixels - shape[:ndim], np.array(sides)) / _length(shape[ndim:], max(sides))) ** 2, axis=-1)
    # At the centre itself the root has no derivative.
    away = square > 0
    radius = jnp.where(away, jnp.sqrt(jnp.where(away, square, 1)), 0)
    delta = (np.arange(len(pixels)) == pixel).astype(shape.dtype)
    return jnp.stack([delta, jnp.exp(-radius), jnp.ones_like(radius)], axis=-1)


def _starts(w: Float[Array, "*pixels"], pixel: Int[Array, ""]) -> Float[Array, "1 starts shape"]:
    scale = np.log(np.geomspace(0.5, max(min(w.shape) / 4, 1.0), 6))[:, None]
    places = [coordinates(pixel, w.shape).astype(w.dtype), jnp.atleast_1d(centre(w, ndim=w.ndim))]
    lengths = jnp.asarray(np.tile(scale, w.ndim), w.dtype)
    rows = [jnp.concatenate([jnp.broadcast_to(p, lengths.shape), lengths], axis=-1) for p in places]
    return jnp.concatenate(rows)[None]
