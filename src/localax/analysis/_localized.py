"""The one rule for "localized", and the kinds of fields that follow from it.

A field is localized if its energy w^2 is *concentrated*, n IPR >= 4, and *gathered*, at least 0.6 of it in one stretch
of a quarter of the ring (on a torus, a window of half the height and half the width).

Why these two, and these numbers. n IPR counts pixels: 1 for a flat field, 3/2 for a wave, and 3 for a random vector,
with a standard deviation of 0.8 at 40 pixels; 4 is more than chance gives to most. But what is not localized after
training is often speckle, a few large weights here and there, and no count of pixels can tell that from a bump. Where
they stand can: the best quarter of the ring holds 0.25 of a flat field, 0.41 of a wave, 0.3 to 0.55 of speckle and more
than 0.9 of a bump. A frequency does not enter: a bump of one pixel has all of them alike, and a Gabor is local whatever
its carrier.
"""

import enum

import jax.numpy as jnp
import numpy as np

from .._types import Array, Float, Int, Shaped
from ._localization import ipr, peak
from ._pixels import Field, Numbers, compiled, each, energy, field, scaled, wrap
from ._spectrum import dominant_frequency

CONCENTRATED = 4.0
"""n IPR from which a field is concentrated."""
GATHERED = 0.6
"""Share of w^2 in the best quarter of the ring from which a field is gathered in one place."""
BAND = 0.5
"""Share of the power at the dominant frequency and its neighbours from which a field is a wave."""


@compiled
def concentration(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """n IPR: 1 for a flat field, 3/2 for a wave, about 3 for a random one, n for one pixel. NaN where ``ipr`` is.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    """
    w = field(w, ndim)
    return ipr(w, ndim=ndim) * float(np.prod(w.shape[-ndim:]))


@compiled
def gathered(w: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """The largest share of w^2 in one contiguous quarter of the ring or torus; NaN where ``ipr`` is.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    On a ring whose size four does not divide, the quarter's last pixel counts by the part of it that belongs.
    """
    return each(_best_quarter, ndim, energy(field(w, ndim), ndim))


def _best_quarter(p: Float[Array, "*pixels"]) -> Float[Array, ""]:
    """The largest sum over a window, by Fourier transform; the share of each side is a quarter, or a half of two."""
    share = 1 / 4 if p.ndim == 1 else 1 / 2
    sides = [np.clip(share * n - np.arange(n), 0, 1) for n in p.shape]
    window = sides[0] if p.ndim == 1 else np.multiply.outer(*sides)
    sums = jnp.fft.irfftn(jnp.fft.rfftn(p) * jnp.conj(jnp.fft.rfftn(jnp.asarray(window, p.dtype))), s=p.shape)
    return jnp.max(sums)


@compiled
def localized(w: Field, *, ndim: int = 1) -> Shaped[Numbers, "..."]:
    """Which fields are localized: concentrated (n IPR >= 4) and gathered (0.6 of w^2 in one quarter).

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).
    """
    return (concentration(w, ndim=ndim) >= CONCENTRATED) & (gathered(w, ndim=ndim) >= GATHERED)


class Kind(enum.IntEnum):
    """What ``classify`` tells apart."""

    UNDEFINED = -1
    LOCALIZED = 0
    OSCILLATORY = 1
    MIXED = 2


@compiled
def classify(w: Field, *, ndim: int = 1) -> Int[Numbers, "..."]:
    """The ``Kind`` of each field.

    **w**: a trajectory, or an array that ends in **ndim** axes of pixels: 1 (ring) or 2 (torus).

    LOCALIZED: as ``localized`` says. OSCILLATORY: not localized, and the dominant frequency and its direct neighbours
    hold at least half the power; the constant field, as the wave of frequency 0, belongs here (the paper's Proposition
    3.3). MIXED: the rest, which is speckle and several waves at once. UNDEFINED (-1): zero everywhere or not finite.
    Needs about 16 pixels an axis, since three frequencies are most of a smaller ring.
    """
    w = field(w, ndim)
    wave = each(_band_share, ndim, scaled(w, ndim)) >= BAND
    kind = jnp.where(localized(w, ndim=ndim), Kind.LOCALIZED, jnp.where(wave, Kind.OSCILLATORY, Kind.MIXED))
    return jnp.where(peak(w, ndim=ndim) < 0, Kind.UNDEFINED, kind)


def _band_share(w: Float[Array, "*pixels"]) -> Float[Array, ""]:
    """Share of the power at the dominant frequency, its mirror image and their neighbours."""
    power = jnp.abs(jnp.fft.fftn(w)) ** 2
    sides = np.array(w.shape).reshape(-1, *[1] * w.ndim)
    best = jnp.atleast_1d(dominant_frequency(w, ndim=w.ndim)).reshape(sides.shape)
    near = [jnp.all(jnp.abs(wrap(np.indices(w.shape) - sign * best, sides)) <= 1, axis=0) for sign in (1, -1)]
    return jnp.sum(power, where=near[0] | near[1]) / jnp.sum(power)
