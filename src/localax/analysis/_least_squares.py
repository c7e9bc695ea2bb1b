"""Least squares for models that are linear in some parameters: field = basis(shape) @ coefficients.

Starts are screened with the best coefficients for each, and the promising ones run side by side, each a fixed
number of Levenberg-Marquardt steps, so that a fit compiles and maps over thousands of fields.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from .._types import Array, Float

Basis = Callable[[Float[Array, " shape"]], Float[Array, "n columns"]]

_SLACK = 1e-3
_EXACT = 1e-10
"""Fits whose costs differ by less than this part, or this part of |target|^2, are equal: the first family wins."""


def coefficients(basis: Float[Array, "n columns"], target: Float[Array, " n"]) -> Float[Array, " columns"]:
    """The best linear parameters; zero for a column that is zero."""
    return _solve(basis.T @ basis, basis.T @ target, jnp.zeros((), target.dtype))


def fit(
    basis: Basis, starts: Float[Array, "families starts shape"], target: Float[Array, " n"], steps: int, keep: int
) -> Float[Array, " shape"]:
    """The shape parameters of the best fit, following the best ``keep`` starts of each family."""

    def begin(shape: Float[Array, " shape"]) -> Float[Array, " parameters"]:
        return jnp.concatenate([shape, coefficients(basis(shape), target)])

    def residual(parameters: Float[Array, " parameters"]) -> Float[Array, " n"]:
        size = starts.shape[-1]
        return basis(parameters[:size]) @ parameters[size:] - target

    first = jax.vmap(jax.vmap(begin))(starts)
    _, promising = jax.lax.top_k(jax.vmap(jax.vmap(lambda p: -jnp.sum(residual(p) ** 2)))(first), keep)
    kept = jnp.take_along_axis(first, promising[..., None], axis=1)
    ends, costs = jax.vmap(lambda p: _descend(residual, p, steps))(kept.reshape(-1, first.shape[-1]))
    exact = max(_EXACT, float(jnp.finfo(target.dtype).eps)) * jnp.sum(target**2)
    simplest = jnp.argmax(costs <= jnp.nanmin(costs) * (1 + _SLACK) + exact)
    return jnp.where(jnp.isnan(costs[simplest]), jnp.nan, ends[simplest, : starts.shape[-1]])


def goodness(w: Float[Array, "*pixels"], nearest: Float[Array, "*pixels"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Relative l2 error |w - nearest| / |w|, and R^2 about the mean of w (NaN for a constant field)."""
    miss, about_mean = jnp.sum((w - nearest) ** 2), jnp.sum((w - jnp.mean(w)) ** 2)
    spread = jnp.where(jnp.max(w) > jnp.min(w), about_mean, jnp.nan)
    return jnp.sqrt(miss / jnp.sum(w**2)), 1 - miss / spread


def _descend(
    residual: Callable[[Float[Array, " p"]], Float[Array, " n"]], start: Float[Array, " p"], steps: int
) -> tuple[Float[Array, " p"], Float[Array, ""]]:
    """Levenberg-Marquardt: damp more after a step that does not help, less after one that does."""

    def step(_, state):
        at, cost, damping = state
        r, slope = residual(at), jax.jacfwd(residual)(at)
        trial = at - _solve(slope.T @ slope, slope.T @ r, damping)
        trial_cost = jnp.sum(residual(trial) ** 2)
        better = trial_cost < cost
        damping = jnp.clip(jnp.where(better, damping / 5, damping * 4), 1e-9, 1e9)
        return jnp.where(better, trial, at), jnp.where(better, trial_cost, cost), damping

    initial = (start, jnp.sum(residual(start) ** 2), jnp.asarray(1e-2, start.dtype))
    end, cost, _ = jax.lax.fori_loop(0, steps, step, initial)
    return end, cost


def _solve(normal: Float[Array, "p p"], right: Float[Array, " p"], damping: Float[Array, ""]) -> Float[Array, " p"]:
    """Damped normal equations, in units where each parameter alone has effect 1, by Cholesky.

    The floor stops a parameter without effect, as the orientation of a round envelope, from running away.
    """
    effect = jnp.diag(normal)
    floor = 8 * jnp.finfo(normal.dtype).eps * jnp.max(effect)
    size = jnp.sqrt(effect + floor)
    unit = normal / jnp.outer(size, size) + jnp.diag(damping + floor / size**2)
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(unit), right / size) / size
