"""Do the gates of ReLU units move while the weights learn? (seed 000 Eq. 45, Figure 3; seed 001 Eqs. 78-79)"""

from typing import Any

import jax.numpy as jnp

from .._types import Array, Float, Shaped
from ._pixels import Field, compiled, field, flat


@compiled
def preactivations(
    weights: Field, samples: Field, biases: Field | None = None, *, ndim: int = 1
) -> Float[Array, "... units samples"]:
    """<w, x> + b of every unit for every sample of a probe batch.

    ``weights`` (..., units, *pixels), ``samples`` (samples, *pixels), ``biases`` (..., units). From the
    weights of a trajectory, which are (seeds, time, units, *pixels), come preactivations as the functions
    below take them.
    """
    w, x = field(weights, ndim), field(samples, ndim)
    if w.shape[-ndim:] != x.shape[-ndim:] or x.ndim != ndim + 1:
        raise ValueError(f"samples of shape {x.shape} are no batch for fields of {w.shape[-ndim:]} pixels")
    h = flat(w, ndim) @ flat(x, ndim).T
    if biases is None:
        return h
    if biases.shape != w.shape[:-ndim]:
        raise ValueError(f"biases of shape {biases.shape} do not match the units {w.shape[:-ndim]}")
    return h + jnp.asarray(biases)[..., None]


@compiled
def gate_agreement(h: Field) -> Float[Array, "... steps units"]:
    """p(t) = P_x(g(t, x) = g(t + dt, x)) with g = 1(h >= 0) (seed 000 Eqs. 44-45, seed 001 Eq. 78).

    ``h``: preactivations, or the gates themselves as booleans, (..., time, units, samples); one number for
    each unit and each pair of successive times. NaN where a preactivation is NaN.
    """
    gates, known, dtype = _gates(h)
    same = gates[..., 1:, :, :] == gates[..., :-1, :, :]
    return jnp.where(known[..., 1:, :] & known[..., :-1, :], jnp.mean(same, axis=-1, dtype=dtype), jnp.nan)


@compiled
def uniform_gate_agreement(h: Field) -> Float[Array, "... units"]:
    """p_unif = P_x(g(t, x) is the same at all times) (seed 001 Eq. 79), from what ``gate_agreement`` takes.

    Never more than the least p(t). It falls with every flip since the first time, so leave the first times
    out (``h[..., start:, :, :]``) to ask whether gates settle.
    """
    gates, known, dtype = _gates(h)
    same = jnp.all(gates == gates[..., :1, :, :], axis=-3)
    return jnp.where(jnp.all(known, axis=-2), jnp.mean(same, axis=-1, dtype=dtype), jnp.nan)


def _gates(h: Field) -> tuple[Shaped[Array, "... time units samples"], Shaped[Array, "... time units"], Any]:
    """The gates, which units have no NaN, and the float type of what is said about them."""
    h = jnp.asarray(h)
    if h.ndim < 3 or 0 in h.shape[-3:]:
        raise ValueError(f"gates need non-empty axes (time, units, samples) at the end, not the shape {h.shape}")
    gates = h if h.dtype == bool else h >= 0
    dtype = h.dtype if jnp.issubdtype(h.dtype, jnp.floating) else float
    return gates, ~jnp.any(jnp.isnan(h), axis=-1), dtype


@compiled
def excess_kurtosis(h: Field) -> Float[Array, "..."]:
    """E(h - m)^4 / Var(h)^2 - 3 over the samples, the last axis (seed 000 Figure 3): 0 for a normal law.

    The plain moment estimator. NaN for samples that are all equal or not all finite.
    """
    h = field(h, 1)
    h = h - jnp.mean(h, axis=-1, keepdims=True)
    top = jnp.max(jnp.abs(h), axis=-1, keepdims=True)
    square = (h / jnp.where(top > 0, top, jnp.nan)) ** 2
    return jnp.mean(square**2, axis=-1) / jnp.mean(square, axis=-1) ** 2 - 3
