"""Many units together: do their peaks tile the ring?"""

import math

import jax.numpy as jnp
import numpy as np

from .._errors import SettingError
from .._types import Array, Float, Shaped
from ._localization import peak
from ._pixels import Arrays, Field, Numbers, compiled, coordinates, distance_squared, population

_EVEN = {1: 1 / 12, 2: 5 / (18 * math.sqrt(3))}
"""Mean squared distance from the middle of an interval, and of a regular hexagon, of size 1."""


@compiled
def tiling(w: Field, *, ndim: int = 1, where: Arrays | None = None) -> Float[Numbers, "..."]:
    """How evenly the peaks of the units (the axis before the pixels) cover the ring or torus, from 0 to 1.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).

    The root mean square distance from anywhere to the nearest peak, for the best arrangement there is of as many peaks
    (equal steps on a ring, a hexagonal grid on a torus), divided by that of the population. Equal steps score 1, a
    square grid .98, random peaks about .41 (ring) or .71 (torus), K units with one peak 1/K on a ring: there, K units
    of score s cover as well as s K evenly spaced ones. The sign of a peak does not count. Units outside the mask
    ``where``, (..., units), by default none, and units without a peak (zero or not finite) are left out; NaN if none is
    left. Exact on a ring; on a torus half pixels at the borders cost up to .6% (six peaks on 12 x 10).
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
def spacing(w: Field, *, ndim: int = 1, where: Arrays | None = None) -> Float[Numbers, "... units"]:
    """Distance, in pixels, from the peak of each unit to the nearest peak of another, the short way round.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    NaN for units that are left out as in ``tiling``, by **where** or for want of a peak, and for a unit that is alone.
    """
    w = population(w, ndim)
    peaks, counted = _peaks(w, ndim, where)
    square = distance_squared(peaks[..., :, None, :], peaks[..., None, :, :], w.shape[-ndim:])
    other = counted[..., None, :] & ~np.eye(counted.shape[-1], dtype=bool)
    nearest = jnp.min(jnp.where(other, square, jnp.inf), axis=-1, initial=jnp.inf)
    return jnp.where(counted & jnp.isfinite(nearest), jnp.sqrt(nearest), jnp.nan)


def _peaks(
    w: Float[Numbers, "..."], ndim: int, where: Arrays | None
) -> tuple[Float[Array, "... units axes"], Shaped[Array, "... units"]]:
    """Position of every peak, and which count."""
    index = peak(w, ndim=ndim)
    counted = index >= 0
    if where is not None:
        if where.shape != index.shape[-where.ndim :] or where.ndim == 0:
            raise SettingError(f"where has the shape {where.shape}, the population has units {index.shape}")
        counted = counted & jnp.asarray(where, bool)
    return coordinates(jnp.maximum(index, 0), w.shape[-ndim:]).astype(w.dtype), counted
