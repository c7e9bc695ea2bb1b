"""What every measure starts from: the last axis (ring) or the last two axes (torus) of an array are pixels.

Undefined is defined once, here: a field that is zero everywhere, or holds a NaN or an infinity, has no
direction, so every number measured on it is NaN and every index is -1.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Array, Float, Shaped

Field = Shaped[Array, "..."] | Shaped[np.ndarray, "..."]
"""Any leading axes, then the pixels; whole numbers are turned into floats."""

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compiled once for each shape and set of options: 3 to 70 times faster than op by op."""
    parameters = inspect.signature(function).parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.annotation in (int, bool, float)]
    return cast("F", jax.jit(function, static_argnames=options))


def field(w: Field, ndim: int) -> Float[Array, "..."]:
    """The array as floats, once its pixel axes are known to be there."""
    if ndim not in (1, 2):
        raise ValueError(f"ndim must be 1 (ring) or 2 (torus), not {ndim}")
    w = jnp.asarray(w)
    if jnp.iscomplexobj(w):
        raise ValueError(f"a field must be real, not {w.dtype}")
    if w.ndim < ndim or 0 in w.shape[-ndim:]:
        raise ValueError(f"a field must end in {ndim} non-empty pixel axes, not have the shape {w.shape}")
    return w if jnp.issubdtype(w.dtype, jnp.floating) else w.astype(float)


def population(w: Field, ndim: int) -> Float[Array, "..."]:
    """The same for fields that need an axis of units before their pixels."""
    w = field(w, ndim)
    if w.ndim == ndim:
        raise ValueError(f"a population needs an axis of units before its pixels, not the shape {w.shape}")
    return w


def scaled(w: Float[Array, "..."], ndim: int) -> Float[Array, "..."]:
    """The field with largest magnitude 1, so that its powers do not underflow; NaN if undefined."""
    top = jnp.max(jnp.abs(w), axis=tuple(range(-ndim, 0)), keepdims=True)
    return w / jnp.where((top > 0) & jnp.isfinite(top), top, jnp.nan)


def energy(w: Float[Array, "..."], ndim: int) -> Float[Array, "..."]:
    """Share of every pixel in the sum of w^2."""
    square = scaled(w, ndim) ** 2
    return square / jnp.sum(square, axis=tuple(range(-ndim, 0)), keepdims=True)


def flat(w: Float[Array, "..."], ndim: int) -> Float[Array, "... n"]:
    """Pixels in one axis, row by row."""
    return w.reshape(*w.shape[:-ndim], -1)


def wrap(offset: Any, size: Any) -> Any:
    """The offset the short way round a ring of this size."""
    return offset - size * jnp.round(offset / size)


def distance_squared(a: Any, b: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Squared distance the short way round, of positions whose last axis holds their coordinates."""
    return jnp.sum(wrap(a - b, np.array(shape)) ** 2, axis=-1)


def coordinates(index: Any, shape: tuple[int, ...]) -> Any:
    """Row and column (torus) or position (ring) of a flat index, in a new last axis."""
    return jnp.stack(jnp.unravel_index(index, shape), axis=-1)


def each(function: Callable[..., Any], ndim: int, *fields: Float[Array, "..."]) -> Any:
    """The function of single fields, mapped over all leading axes."""
    lead = fields[0].shape[:-ndim]
    mapped = jax.vmap(function)(*(f.reshape(math.prod(lead), *f.shape[-ndim:]) for f in fields))
    return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[1:]), mapped)
