"""The Gabor hypothesis (the network notes): is a receptive field a wave under a Gaussian envelope?"""

import functools
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._text import readable
from .._types import Array, Float
from ._least_squares import coefficients, fit, goodness
from ._localization import centre, peak
from ._pixels import Field, Numbers, compiled, coordinates, each, field, scaled, wrap
from ._spectrum import dominant_frequency


class GaborFit(eqx.Module):
    """``offset + amplitude exp(-d^2 / (2 width^2)) cos(2 pi frequency d / n + phase)``, with d = x - ``centre``.

    d is taken the short way round. Six parameters on a ring. On a torus nine: the wave runs in the
    direction (cos orientation, sin orientation) of (row, column), and ``orientation`` is from 0 to pi (None on a
    ring); ``width`` is (along it, across it), ``centre`` (row, column) and ``frequency`` the cycles round (rows,
    columns). ``field`` is the fit itself, of the field's shape; ``error`` is |w - field| / |w|, and ``r2`` the share of
    the variance over pixels that is explained (NaN for a constant field).
    """

    __repr__ = readable

    amplitude: Float[Numbers, "..."]
    centre: Float[Numbers, "..."]
    width: Float[Numbers, "..."]
    frequency: Float[Numbers, "..."]
    phase: Float[Numbers, "..."]
    offset: Float[Numbers, "..."]
    orientation: Float[Numbers, "..."] | None
    field: Float[Numbers, "..."]
    error: Float[Numbers, "..."]
    r2: Float[Numbers, "..."]


@compiled
def fit_gabor(w: Field, *, ndim: int = 1, steps: int = 60) -> GaborFit:
    """The Gabor nearest to the field in l2, by Levenberg-Marquardt from many starts.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    **steps**: of the descent from each start.

    Starts combine the peak and the centre of w^2, several widths, and frequency 0, half a cycle an
    envelope, and the dominant frequency. Of equally good ends the one with the lowest frequency counts, so
    that a bump is reported as a bump: at frequency near 0, amplitude and phase are not determined. A wide
    envelope with a whole frequency is a pure sinusoid. NaN everywhere for a field that is zero everywhere
    or not finite.
    """
    return each(functools.partial(_fit_ring if ndim == 1 else _fit_torus, steps=steps), ndim, field(w, ndim))


def _fit_ring(w: Float[Array, " n"], steps: int) -> GaborFit:
    n, x = w.size, scaled(w, 1)
    # Following 12 instead of 6 lowers the mean error on smooth random fields, the hardest tried, from .476 to .473.
    found = fit(lambda shape: _ring_basis(shape, n), _ring_starts(x), x, steps, keep=6)
    centre, log_width, cycles = shape = jnp.array([found[0] % n, found[1], jnp.abs(wrap(found[2], n))])
    return _report(
        w, _ring_basis(shape, n), centre=centre, width=_width(log_width, n), frequency=cycles, orientation=None
    )


def _fit_torus(w: Float[Array, "rows columns"], steps: int) -> GaborFit:
    sides, x = np.array(w.shape), scaled(w, 2)
    found = fit(lambda shape: _torus_basis(shape, w.shape), _torus_starts(x), x.ravel(), steps, keep=3)
    shape = jnp.concatenate([found[:2] % sides, found[2:4], found[4:5] % np.pi, jnp.abs(found[5:])])
    angle, cycles = shape[4:]
    return _report(
        w,
        _torus_basis(shape, w.shape),
        centre=shape[:2],
        width=_width(shape[2:4], max(w.shape)),
        frequency=cycles * sides * jnp.array([jnp.cos(angle), jnp.sin(angle)]),
        orientation=angle,
    )


def _report(w: Float[Array, "*pixels"], basis: Float[Array, "n 3"], **shape: Any) -> GaborFit:
    """The record of a fit, its linear parameters solved once more for the shape as it is reported."""
    top, x = jnp.max(jnp.abs(w)), scaled(w, w.ndim)
    cosine, sine, offset = parts = coefficients(basis, x.ravel())
    nearest = (basis @ parts).reshape(w.shape)
    error, r2 = goodness(x, nearest)
    amplitude, phase = top * jnp.hypot(cosine, sine), jnp.arctan2(-sine, cosine)
    return GaborFit(
        amplitude=amplitude, phase=phase, offset=top * offset, field=top * nearest, error=error, r2=r2, **shape
    )


def _width(log_width: Float[Array, "..."], n: int) -> Float[Array, "..."]:
    """Bounded: below a fifth of a pixel an envelope is one pixel, beyond ten rings it is flat."""
    return jnp.exp(jnp.clip(log_width, math.log(0.2), math.log(10 * n)))


def _columns(envelope: Float[Array, " n"], angle: Float[Array, " n"]) -> Float[Array, "n 3"]:
    """Cosine and sine under the envelope, and the offset."""
    return jnp.stack([envelope * jnp.cos(angle), envelope * jnp.sin(angle), jnp.ones_like(angle)], axis=-1)


def _ring_basis(shape: Float[Array, " 3"], n: int) -> Float[Array, "n 3"]:
    """Shape: centre, log width, cycles round the ring."""
    d = wrap(np.arange(n) - shape[0], n)
    return _columns(jnp.exp(-0.5 * (d / _width(shape[1], n)) ** 2), 2 * np.pi * shape[2] * d / n)


def _torus_basis(shape: Float[Array, " 6"], sides: tuple[int, ...]) -> Float[Array, "n 3"]:
    """Shape: row, column, log width along and across, orientation, cycles a pixel."""
    pixels = np.indices(sides).reshape(2, -1)
    row, column = (wrap(pixels[i] - shape[i], sides[i]) for i in range(2))
    cos, sin = jnp.cos(shape[4]), jnp.sin(shape[4])
    along, across = cos * row + sin * column, cos * column - sin * row
    widths = _width(shape[2:4], max(sides))
    envelope = jnp.exp(-0.5 * ((along / widths[0]) ** 2 + (across / widths[1]) ** 2))
    return _columns(envelope, 2 * np.pi * shape[5] * along)


def _ring_starts(w: Float[Array, " n"]) -> Float[Array, "3 starts 3"]:
    """Families: a bump, half a cycle under the envelope, the dominant frequency."""
    n, widths = w.size, _widths(w.size)
    carrier = dominant_frequency(w, constant=False)
    cycles = [jnp.zeros(len(widths)), n / (4 * np.pi * widths), jnp.full(len(widths), carrier)]
    places = [peak(w), centre(w)]
    families = [[_rows(w.dtype, place, np.log(widths), k) for place in places] for k in cycles]
    return jnp.array(families).reshape(len(families), -1, 3)


def _torus_starts(w: Float[Array, "rows columns"]) -> Float[Array, "4 starts 6"]:
    """Families: bumps along two axes, half the dominant frequency, the dominant frequency."""
    scale = np.log(_widths(min(w.shape)))
    wave = dominant_frequency(w, ndim=2, constant=False) / np.array(w.shape)
    direction, carrier = jnp.arctan2(wave[1], wave[0]), jnp.linalg.norm(wave)
    # A round envelope has no orientation to descend in: two axes half a right angle apart see every ellipse.
    waves = [(0.0, 0.0), (np.pi / 4, 0.0), (direction, carrier / 2), (direction, carrier)]
    places = [coordinates(peak(w, ndim=2), w.shape), centre(w, ndim=2)]
    families = [[_rows(w.dtype, *place, scale, scale, *wave) for place in places] for wave in waves]
    return jnp.array(families).reshape(len(families), -1, 6)


def _rows(dtype: jnp.dtype, *columns: Any) -> Float[Array, "starts shape"]:
    """Numbers and lists of numbers as the columns of a table."""
    return jnp.stack(jnp.broadcast_arrays(*(jnp.asarray(c, dtype) for c in columns)), axis=-1)


def _widths(n: int) -> np.ndarray:
    """From a single pixel to a bump that fills the ring."""
    return np.geomspace(0.7, max(n / 4, 1.0), 6)
