"""Many units together: do their peaks tile the ring, and which kind of field has each?"""

import enum
import math

import jax.numpy as jnp
import numpy as np

from .._types import Array, Float, Int, Shaped
from ._localization import ipr, peak
from ._pixels import Field, compiled, coordinates, distance_squared, each, field, population, scaled, wrap
from ._spectrum import dominant_frequency

_EVEN = {1: 1 / 12, 2: 5 / (18 * math.sqrt(3))}
"""Mean squared distance from the middle of an interval, and of a regular hexagon, of size 1."""


@compiled
def tiling(w: Field, *, ndim: int = 1, where: Field | None = None) -> Float[Array, "..."]:
    """How evenly the peaks of the units (the axis before the pixels) cover the ring or torus, from 0 to 1.

    The root mean square distance from anywhere to the nearest peak, for the best arrangement there is of as
    many peaks (equal steps on a ring, a hexagonal grid on a torus), divided by that of the population.
    Equal steps score 1, a square grid .98, random peaks about .41 (ring) or .71 (torus), K units with one
    peak 1/K on a ring: there, K units of score s cover as well as s K evenly spaced ones. The sign of a
    peak does not count. Units outside the mask ``where`` and units without a peak (zero or not finite) are
    left out; NaN if none is left. Exact on a ring; on a torus half pixels at the borders cost up to .6% (six peaks
    on 12 x 10).
    """
    w = population(w, ndim)
    shape = w.shape[-ndim:]
    peaks, counted = _peaks(w, ndim, where)
    # Half-pixel cells: the borders between peaks on a ring never cut one. Each adds its own variance, 1/48 an axis.
    cells = np.indices([2 * n for n in shape]).reshape(ndim, -1).T / 2 - 0.25
    square = distance_squared(peaks[..., None, :, :], jnp.asarray(cells, w.dtype)[:, None, :], shape)
    nearest = jnp.min(jnp.where(counted[..., None, :], square, jnp.inf), axis=-1)
    count = jnp.sum(counted, axis=-1).astype(w.dtype)
    even = _EVEN[ndim] * (math.prod(shape) / jnp.maximum(count, 1)) ** (2 / ndim)
    return jnp.where(count > 0, jnp.sqrt(even / (jnp.mean(nearest, axis=-1) + ndim / 48)), jnp.nan)


@compiled
def spacing(w: Field, *, ndim: int = 1, where: Field | None = None) -> Float[Array, "... units"]:
    """Distance, in pixels, from the peak of each unit to the nearest peak of another, the short way round.

    NaN for units that are left out as in ``tiling``, and for a unit that is alone.
    """
    w = population(w, ndim)
    peaks, counted = _peaks(w, ndim, where)
    square = distance_squared(peaks[..., :, None, :], peaks[..., None, :, :], w.shape[-ndim:])
    other = counted[..., None, :] & ~np.eye(counted.shape[-1], dtype=bool)
    nearest = jnp.min(jnp.where(other, square, jnp.inf), axis=-1, initial=jnp.inf)
    return jnp.where(counted & jnp.isfinite(nearest), jnp.sqrt(nearest), jnp.nan)


def _peaks(
    w: Float[Array, "..."], ndim: int, where: Field | None
) -> tuple[Float[Array, "... units axes"], Shaped[Array, "... units"]]:
    """Position of every peak, and which count."""
    index = peak(w, ndim=ndim)
    counted = index >= 0
    if where is not None:
        if where.shape != index.shape[-where.ndim :] or where.ndim == 0:
            raise ValueError(f"where has the shape {where.shape}, the population has units {index.shape}")
        counted = counted & jnp.asarray(where, bool)
    return coordinates(jnp.maximum(index, 0), w.shape[-ndim:]).astype(w.dtype), counted


class Kind(enum.IntEnum):
    """What ``classify`` tells apart."""

    UNDEFINED = -1
    LOCALIZED = 0
    OSCILLATORY = 1
    MIXED = 2


@compiled
def classify(w: Field, *, ndim: int = 1, concentration: float = 4.0, band: float = 0.5) -> Int[Array, "..."]:
    """The ``Kind`` of each field, by two questions.

    *Concentrated*: is n * IPR, which is 1 for a flat field, 3/2 for a sinusoid and 3 for white noise, at least
    ``concentration``? 4 is an IPR of .1 at 40 pixels. It is no clean cut: sigmoid committees on Kur(10) have 4.4 and
    more in their localized units, and the oscillating ones of two-layer networks reach 4.8. *Wave*: do the dominant
    frequency and its direct neighbours hold at least the share ``band`` of the power? A modulated wave does,
    noise and single pixels spread over all frequencies; so does any wide bump, at 0 or 1 cycles.

    LOCALIZED: concentrated, and no wave of two or more cycles. OSCILLATORY: a wave that is not
    concentrated; the constant field, as the wave of frequency 0, belongs here (Proposition 3.3). MIXED: the
    rest, which is wave packets (concentrated waves of two or more cycles: Gabors) and fields that are
    neither (noise, several waves at once). UNDEFINED (-1): zero everywhere or not finite. Needs about 16
    pixels an axis, since three frequencies are most of a smaller ring; at 40 pixels chance still
    concentrates 6% of white noise.
    """
    w = field(w, ndim)
    frequency = dominant_frequency(w, ndim=ndim)
    concentrated = ipr(w, ndim=ndim) * np.prod(w.shape[-ndim:]) >= concentration
    wave = each(_band_share, ndim, scaled(w, ndim)) >= band
    cycles = frequency if ndim == 1 else jnp.max(jnp.abs(frequency), axis=-1)
    localized = concentrated & ~(wave & (cycles >= 2))
    kind = jnp.where(localized, Kind.LOCALIZED, jnp.where(wave & ~concentrated, Kind.OSCILLATORY, Kind.MIXED))
    return jnp.where(peak(w, ndim=ndim) < 0, Kind.UNDEFINED, kind)


def _band_share(w: Float[Array, "*pixels"]) -> Float[Array, ""]:
    """Share of the power at the dominant frequency, its mirror image and their neighbours."""
    power = jnp.abs(jnp.fft.fftn(w)) ** 2
    sides = np.array(w.shape).reshape(-1, *[1] * w.ndim)
    best = jnp.atleast_1d(dominant_frequency(w, ndim=w.ndim)).reshape(sides.shape)
    near = [jnp.all(jnp.abs(wrap(np.indices(w.shape) - sign * best, sides)) <= 1, axis=0) for sign in (1, -1)]
    return jnp.sum(power, where=near[0] | near[1]) / jnp.sum(power)
