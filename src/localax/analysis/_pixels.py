"""What every measure starts from: fields in a `Trajectory`, which knows its pixels, or at the end of an array.

Undefined is defined once, here: a field that is zero everywhere, or holds a NaN or an infinity, has no
direction, so every number measured on it is NaN and every index is -1.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._errors import SettingError, setting_error
from .._math import BRIEF
from .._types import Array, Float, Shaped
from ..trajectory import Trajectory

Arrays = Shaped[Array, "..."] | Shaped[np.ndarray, "..."]
Field = Arrays | Trajectory
"""A trajectory, or any leading axes and then the pixels; whole numbers are turned into floats."""

Numbers = Any
"""What a measure gives: numpy's arrays and numbers, and JAX's inside of jit and vmap."""

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """A measure as everybody calls it: of the weights of a trajectory or of arrays, and numpy outside of jit.

    Compiled once for each shape and set of options: 3 to 70 times faster than op by op.
    """
    who, signature = function.__name__.lstrip("_"), inspect.signature(function)
    parameters = signature.parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.annotation in (int, bool, float)]
    optional = [p.name for p in parameters if p.default is None]
    inside, outside = (jax.jit(function, static_argnames=options, compiler_options=o) for o in (None, BRIEF))

    @functools.wraps(function)
    def measure(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named).arguments
        chosen = {name: given.pop(name) for name in options if name in given}
        if "ndim" in options:
            chosen["ndim"] = _pixel_axes(who, given.values(), chosen.get("ndim"))
        inputs = {n: _array(who, x, "ndim" in options) for n, x in given.items() if x is not None or n not in optional}
        traced = any(isinstance(value, Tracer) for value in inputs.values())
        return jax.tree.map(_given_back, (inside if traced else outside)(**inputs, **chosen))

    return cast("F", measure)


def _pixel_axes(who: str, given: Iterable[Any], ndim: Any) -> int:
    """How many axes at the end are pixels: what trajectories know, else what is said, else one."""
    if ndim is not None and not (isinstance(ndim, int | np.integer) and ndim in (1, 2)):
        raise setting_error(who, "ndim", ndim, "1 (ring) or 2 (torus)")
    known = {value.pixel_ndim for value in given if isinstance(value, Trajectory)}
    if len(known) > 1:
        raise SettingError(f"{who}: trajectories on a ring and on a torus cannot be measured together")
    axes = known.pop() if known else int(ndim or 1)
    if ndim not in (None, axes):
        raise setting_error(who, "ndim", ndim, f"{axes}, which the trajectory knows by itself, or left out")
    return axes


def _array(who: str, value: Any, fields: bool) -> Any:
    if isinstance(value, Trajectory):
        if not fields:
            raise SettingError(f"{who}: takes numbers such as preactivations(run, samples), got a Trajectory")
        value = value.weights
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        raise SettingError(f"{who}: takes a Trajectory or an array of numbers, got {type(value).__name__}") from None


def _given_back(leaf: Any) -> Any:
    return leaf if isinstance(leaf, Tracer) else np.array(leaf)[()]


def field(w: Any, ndim: int) -> Float[Array, "..."]:
    """The array as floats, once its pixel axes are known to be there."""
    w = jnp.asarray(w)
    if jnp.iscomplexobj(w):
        raise SettingError(f"a field must be real, not {w.dtype}")
    if w.ndim < ndim or 0 in w.shape[-ndim:]:
        raise SettingError(f"a field must end in {ndim} non-empty pixel axes, not have the shape {w.shape}")
    return w if jnp.issubdtype(w.dtype, jnp.floating) else w.astype(float)


def population(w: Any, ndim: int) -> Float[Array, "..."]:
    """The same for fields that need an axis of units before their pixels."""
    w = field(w, ndim)
    if w.ndim == ndim:
        raise SettingError(f"a population needs an axis of units before its pixels, not the shape {w.shape}")
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
