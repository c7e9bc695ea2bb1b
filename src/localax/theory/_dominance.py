"""Probability dominance: how often the long-lengthscale class drives a filter harder than the short one (seed 002).

Eq. 9 of seed 002 asks for the field w that maximises P(|<w,X1>| > |<w,X0>|) at one place; Eq. 6, from which it is said
to follow, compares averages over all places of the ring. They are not equivalent (a Gaussian bump on Gaussian data:
0.64 and 0.87), so both are here. Ties count one half.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._math import ring_distance
from .._settings import finite_array, wrong
from .._types import Array, Float
from ..analysis import ipr
from ..stimuli import AbstractStimulus, Task
from ._estimate import Estimate, Mean, batches, draw, exactly
from ._joint import is_gaussian, products, two_classes
from ._x64 import require_x64

Fields = Float[np.ndarray, "fields n"]
RESPONSES: dict[str, Callable] = {"square": jnp.square, "magnitude": jnp.abs}
"""What is averaged over places: an even, increasing function of the local response."""


def dominance(
    task: Task,
    w: Any,
    *,
    average: bool = False,
    method: str = "auto",
    response: str | Callable = "square",
    samples: int = 200_000,
    seed: int = 0,
) -> Estimate:
    """P(|<w,X1>| > |<w,X0>|) for one field (\\*pixels) or many, X1 from the class of the higher label.

    With ``average`` the squared response (or another even ``response``) is averaged over all places first (Eq. 6 of
    seed 002). ``exact``: (2/pi) atan(s1/s0) for Gaussian classes and one place; ``sampled``: Monte Carlo; ``auto``:
    exact where there is a closed form.
    """
    require_x64()
    low, high = two_classes(task, "dominance")
    array = finite_array("dominance", "w", np.asarray(w), "finite numbers").astype(float)
    lead = array.shape[: array.ndim - len(task.shape)]
    if array.shape[len(lead) :] != task.shape:
        raise wrong("dominance", "w", f"shape {array.shape}", f"fields of {task.shape} pixels")
    if method not in ("auto", "exact", "sampled"):
        raise wrong("dominance", "method", method, "one of auto, exact, sampled")
    flat = array.reshape(-1, int(np.prod(task.shape)))
    closed = is_gaussian(low) and is_gaussian(high) and not average
    if method == "exact" and not closed:
        raise ValueError("dominance: the closed form is for Gaussian classes without average; use method='sampled'")
    if closed and method != "sampled":
        found = exactly(gaussian_dominance(low, high, flat))
    else:
        found = _sampled(low, high, flat, even_response(response) if average else None, samples, seed)
    return Estimate(found.value.reshape(lead), found.standard_error.reshape(lead))


def gaussian_dominance(low: AbstractStimulus, high: AbstractStimulus, w: Fields) -> Float[np.ndarray, " fields"]:
    """(2/pi) atan(s1/s0): the integral that seed 002 leaves standing."""
    power = np.asarray(jnp.einsum("cup,up->cu", products([low, high])(jnp.asarray(w)), jnp.asarray(w)))
    return 2 / np.pi * np.arctan2(np.sqrt(power[1]), np.sqrt(power[0]))


def even_response(response: str | Callable) -> Callable:
    if callable(response):
        return response
    if response not in RESPONSES:
        raise wrong("dominance", "response", response, f"one of {', '.join(RESPONSES)}, or an even function")
    return RESPONSES[response]


def _sampled(low, high, w: Fields, average: Callable | None, samples: int, seed: int) -> Estimate:
    mean, fields = Mean(), jnp.asarray(w)
    for index, n in batches(samples, w.shape[1] * (len(w) if average else 1)):
        x0, x1 = (draw(stimulus, seed, c, index, n) for c, stimulus in enumerate((low, high)))
        spreads = [spread_of(x, fields, shape=low.shape, average=average) for x in (x0, x1)]
        mean.add(_wins(spreads[1] - spreads[0]))
    return mean.estimate()


@jax.jit
def _wins(gap: Float[Array, "n fields"]) -> Float[Array, "n fields"]:
    # Sums of the same +-1 in another order differ by rounding only: that is a tie.
    return jnp.where(jnp.abs(gap) < 1e-9, 0.5, gap > 0)


@functools.partial(jax.jit, static_argnames=("shape", "average"))
def spread_of(
    x: Float[Array, "n pixels"], w: Float[Array, "fields pixels"], *, shape: tuple[int, ...], average: Callable | None
) -> Float[Array, "n fields"]:
    """How hard each sample drives each field: its squared response, or an even function averaged over all places."""
    if average is None:
        return (x @ w.T) ** 2
    axes = tuple(range(-len(shape), 0))
    waves = jnp.fft.rfftn(x.reshape(-1, 1, *shape), axes=axes)
    local = jnp.fft.irfftn(waves * jnp.conj(jnp.fft.rfftn(w.reshape(-1, *shape), axes=axes)), s=shape, axes=axes)
    return jnp.mean(average(local), axis=axes)


# Fields that might dominate ------------------------------------------------------------------------------------------


def difference_of_means(task: Task) -> tuple[float, Float[np.ndarray, "*pixels"]]:
    """Leading eigenvalue and eigenvector of S1 - S0, which maximises E<w,X1>^2 - E<w,X0>^2 at |w| = 1.

    The constant field for lengthscale tasks; not the field of largest dominance in general (end of section 2 of
    seed 002).
    """
    require_x64()
    low, high = two_classes(task, "difference_of_means")
    values, vectors = np.linalg.eigh(high.covariance_matrix() - low.covariance_matrix())
    leading = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    return float(values[-1]), leading.reshape(task.shape)


def gabor_candidates(
    shape: tuple[int, ...], *, widths: Any = (1.0, 2.0, 4.0), periods: Any = (np.inf, 16.0, 8.0)
) -> dict[str, Float[np.ndarray, "*pixels"]]:
    """Gaussian windows times a cosine along the last axis, of unit norm; period inf is a plain bump."""
    distances = np.ix_(*(ring_distance(side) for side in shape))
    radius = sum(d**2 for d in distances)
    found = {}
    for width in np.atleast_1d(widths):
        for period in np.atleast_1d(periods):
            field = np.exp(-radius / (2 * width**2)) * np.cos(2 * np.pi * distances[-1] / period)
            name = f"bump({width:g})" if np.isinf(period) else f"gabor({width:g}, {period:g})"
            found[name] = np.asarray(field / np.linalg.norm(field))
    return found


@dataclass(frozen=True)
class DominanceRow:
    """One field: its dominance at one place and averaged over places, with standard errors, and its localization."""

    name: str
    pointwise: float
    pointwise_error: float
    averaged: float
    averaged_error: float
    ipr: float


def compare_dominance(
    task: Task, fields: dict[str, Any] | None = None, *, samples: int = 100_000, seed: int = 0
) -> tuple[DominanceRow, ...]:
    """Fields side by side, the highest pointwise dominance first.

    By default: the constant, the leading eigenvector of S1 - S0, the field (S0 + S1)^-1 S1 e_0 that a localized gate
    leads to, and Gabors.
    """
    require_x64()
    candidates = _default_fields(task) if fields is None else {n: np.asarray(w, float) for n, w in fields.items()}
    if not candidates:
        raise wrong("compare_dominance", "fields", fields, "at least one field")
    stack = np.stack(list(candidates.values()))
    near, far = (dominance(task, stack, average=a, samples=samples, seed=seed) for a in (False, True))
    local = np.asarray(ipr(jnp.asarray(stack), ndim=len(task.shape)))
    columns = (near.value, near.standard_error, far.value, far.standard_error, local)
    rows = [DominanceRow(name, *(float(column[i]) for column in columns)) for i, name in enumerate(candidates)]
    return tuple(sorted(rows, key=lambda row: -row.pointwise))


def _default_fields(task: Task) -> dict[str, np.ndarray]:
    low, high = (s.covariance_matrix() for s in two_classes(task, "compare_dominance"))
    attractor = np.linalg.lstsq(low + high, high[:, 0], rcond=1e-10)[0].reshape(task.shape)
    return {
        "constant": np.ones(task.shape),
        "difference of means": difference_of_means(task)[1],
        "localized gate": attractor,
        **gabor_candidates(task.shape),
    }
