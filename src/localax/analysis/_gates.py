"""Do the gates of ReLU units move while the weights learn? (Eq. 45 of the network notes, 78 and 79 of the older)"""

from typing import Any

import jax.numpy as jnp

from .._errors import SettingError
from .._types import Array, Float, Shaped
from ..trajectory import Trajectory
from ._pixels import Arrays, Field, Numbers, compiled, field, flat


def preactivations(
    weights: Field, samples: Arrays, biases: Arrays | None = None, *, ndim: int | None = None
) -> Float[Numbers, "... units samples"]:
    """<w, x> + b of every unit for every sample of a probe batch.

    ``weights`` (..., units, *pixels), ``samples`` (samples, *pixels), ``biases`` (..., units), by default none;
    ``ndim`` is how many axes are pixels, 1 (ring) or 2 (torus). A trajectory knows that and brings its own biases. Its
    weights are (seeds, time, units, *pixels), so that preactivations come as the functions below take them.
    """
    own = weights.biases if isinstance(weights, Trajectory) else None
    given = own if biases is None else biases
    return _preactivations(weights, samples, given, ndim=ndim)  # pyright: ignore[reportArgumentType] (None: not said)


@compiled
def _preactivations(
    weights: Field, samples: Arrays, biases: Arrays | None = None, *, ndim: int = 1
) -> Float[Numbers, "... units samples"]:
    w, x = field(weights, ndim), field(samples, ndim)
    if w.shape[-ndim:] != x.shape[-ndim:] or x.ndim != ndim + 1:
        raise SettingError(f"samples of shape {x.shape} are no batch for fields of {w.shape[-ndim:]} pixels")
    h = flat(w, ndim) @ flat(x, ndim).T
    if biases is None:
        return h
    if biases.shape != w.shape[:-ndim]:
        raise SettingError(f"biases of shape {biases.shape} do not match the units {w.shape[:-ndim]}")
    return h + jnp.asarray(biases)[..., None]


@compiled
def gate_agreement(h: Arrays) -> Float[Numbers, "... steps units"]:
    """p(t) = P_x(g(t, x) = g(t + dt, x)) with g = 1(h >= 0) (the network notes Eqs. 44-45, the older notes Eq. 78).

    ``h``: preactivations, or the gates themselves as booleans, (..., time, units, samples); one number for
    each unit and each pair of successive times. NaN where a preactivation is NaN.
    """
    gates, known, dtype = _gates(h)
    same = gates[..., 1:, :, :] == gates[..., :-1, :, :]
    return jnp.where(known[..., 1:, :] & known[..., :-1, :], jnp.mean(same, axis=-1, dtype=dtype), jnp.nan)


@compiled
def uniform_gate_agreement(h: Arrays) -> Float[Numbers, "... units"]:
    """p_unif = P_x(g(t, x) is the same at all times) (the older notes Eq. 79).

    ``h``: as for ``gate_agreement``. Never more than the least p(t). It falls with every flip since the first time, so
    leave the first times out (``h[..., start:, :, :]``) to ask whether gates settle.
    """
    gates, known, dtype = _gates(h)
    same = jnp.all(gates == gates[..., :1, :, :], axis=-3)
    return jnp.where(jnp.all(known, axis=-2), jnp.mean(same, axis=-1, dtype=dtype), jnp.nan)


def _gates(h: Arrays) -> tuple[Shaped[Array, "... time units samples"], Shaped[Array, "... time units"], Any]:
    """The gates, which units have no NaN, and the float type of what is said about them."""
    h = jnp.asarray(h)
    if h.ndim < 3 or 0 in h.shape[-3:]:
        raise SettingError(f"gates need non-empty axes (time, units, samples) at the end, not the shape {h.shape}")
    gates = h if h.dtype == bool else h >= 0
    dtype = h.dtype if jnp.issubdtype(h.dtype, jnp.floating) else float
    return gates, ~jnp.any(jnp.isnan(h), axis=-1), dtype


@compiled
def excess_kurtosis(h: Arrays) -> Float[Numbers, "..."]:
    """E(h - m)^4 / Var(h)^2 - 3 over the samples, the last axis (the network notes Figure 3): 0 for a normal law.

    ``h``: preactivations or any numbers, (..., samples). The plain moment estimator. NaN for samples that are all equal
    or not all finite.
    """
    h = field(h, 1)
    h = h - jnp.mean(h, axis=-1, keepdims=True)
    top = jnp.max(jnp.abs(h), axis=-1, keepdims=True)
    square = (h / jnp.where(top > 0, top, jnp.nan)) ** 2
    return jnp.mean(square**2, axis=-1) / jnp.mean(square, axis=-1) ** 2 - 3
