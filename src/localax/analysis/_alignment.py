"""Fields that differ by a circular shift or a sign are the same solution of the same task."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError
from .._text import readable
from .._types import Array, Float, Int
from ._pixels import Field, Numbers, compiled, coordinates, each, field


class Alignment(eqx.Module):
    """``field`` = ``sign`` * (v shifted by ``shift`` pixels), the nearest to w of all shifts and signs of v.

    ``shift`` is a whole number from 0 on a ring and (rows, columns) on a torus, as in ``jnp.roll``; ``sign`` is +1 or
    -1; ``distance`` is |w - field|, in l2.
    """

    __repr__ = readable

    field: Float[Numbers, "..."]
    shift: Int[Numbers, "..."]
    sign: Float[Numbers, "..."]
    distance: Float[Numbers, "..."]


@compiled
def align(w: Field, v: Field, *, ndim: int = 1) -> Alignment:
    """Shift and sign v so that it comes nearest to w in l2, by the largest circular cross-correlation.

    **w**, **v**: trajectories, or arrays that end in the same **ndim** axes of pixels: 1 (ring) or 2 (torus). Leading
    axes broadcast. A field of zeros is at its own norm from any other, with shift 0 and sign +1; a NaN or an infinity
    in either makes the distance NaN.
    """
    w, v = field(w, ndim), field(v, ndim)
    if w.shape[-ndim:] != v.shape[-ndim:]:
        raise SettingError(f"fields of {w.shape[-ndim:]} and of {v.shape[-ndim:]} pixels cannot be aligned")
    try:
        shape = np.broadcast_shapes(w.shape, v.shape)
    except ValueError:
        raise SettingError(f"leading axes of shapes {w.shape} and {v.shape} do not broadcast") from None
    dtype = jnp.result_type(w, v)
    return each(_align, ndim, *(jnp.broadcast_to(x, shape).astype(dtype) for x in (w, v)))


@compiled
def distance(w: Field, v: Field, *, ndim: int = 1) -> Float[Numbers, "..."]:
    """l2 distance of two fields up to circular shift and sign; ``align`` also tells which.

    **w**, **v**: trajectories, or arrays that end in the same **ndim** axes of pixels: 1 (ring) or 2 (torus).
    """
    return align(w, v, ndim=ndim).distance


def _align(w: Float[Array, "*pixels"], v: Float[Array, "*pixels"]) -> Alignment:
    correlation = jnp.fft.irfftn(jnp.fft.rfftn(_tamed(w)) * jnp.conj(jnp.fft.rfftn(_tamed(v))), s=w.shape)
    best = jnp.argmax(jnp.abs(correlation))
    shift = coordinates(best, w.shape)
    sign = jnp.where(correlation.ravel()[best] < 0, -1, 1).astype(w.dtype)
    moved = sign * jnp.roll(v, shift, axis=tuple(range(w.ndim)))
    # |w|^2 + |v|^2 - 2 max would lose half the digits where the fields agree.
    return Alignment(moved, shift if w.ndim == 2 else shift[0], sign, jnp.linalg.norm((w - moved).ravel()))


def _tamed(w: Float[Array, "*pixels"]) -> Float[Array, "*pixels"]:
    """Scaled so that tiny fields do not underflow; zeros stay zeros."""
    top = jnp.max(jnp.abs(w))
    return w / jnp.where(top > 0, top, 1)
