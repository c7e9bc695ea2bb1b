"""Probability dominance: how often the long-lengthscale class drives a filter harder than the short one.

Eq. 9 of the behaviour notes asks for the field w that maximises P(|<w,X1>| > |<w,X0>|) at one place; Eq. 6, from which
it is said to follow, compares averages over all places of the ring. They are not equivalent (a Gaussian bump on
Gaussian data: 0.64 and 0.87), so both are here. Ties count one half.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SettingError, setting_error
from ..._math import circular_correlate, ring_distance
from ..._types import Array, Float
from ...analysis import ipr
from ...spec import finite_array
from ...stimuli import AbstractStimulus, Task
from .._estimate import Estimate, Mean, batches, draw, exactly
from .._float64 import in_float64
from .._products import is_centred_gaussian, products, two_classes

Fields = Float[np.ndarray, "fields n"]
RESPONSES: dict[str, Callable] = {"square": jnp.square, "magnitude": jnp.abs}
"""What is averaged over places: an even, increasing function of the local response."""


@in_float64
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
    """``P(|<w,X1>| > |<w,X0>|)``, with X1 from the class of the higher label and X0 from the other.

    **task**: two classes of different labels. **w**: one field (*pixels) or many (..., *pixels). With **average**
    the squared response is averaged over all places first (Eq. 6 of the behaviour notes); **response** is then
    "square", "magnitude" or another even function of arrays. **method**: "exact", (2/pi) atan(s1/s0) for Gaussian
    classes and one place; "sampled", Monte Carlo with **samples** pairs drawn from **seed**; "auto", exact where there
    is a closed form.
    """
    low, high = two_classes(task, "dominance")
    array = finite_array("dominance", "w", np.asarray(w), "finite numbers").astype(float)
    lead = array.shape[: array.ndim - len(task.shape)]
    if array.shape[len(lead) :] != task.shape:
        raise setting_error("dominance", "w", f"shape {array.shape}", f"fields of {task.shape} pixels")
    if method not in ("auto", "exact", "sampled"):
        raise setting_error("dominance", "method", method, "one of auto, exact, sampled")
    flat = array.reshape(-1, int(np.prod(task.shape)))
    closed = is_centred_gaussian(low) and is_centred_gaussian(high) and not average
    if method == "exact" and not closed:
        raise SettingError("dominance: the closed form is for Gaussian classes without average; use method='sampled'")
    if closed and method != "sampled":
        found = exactly(gaussian_dominance(low, high, flat))
    else:
        found = _sampled(low, high, flat, even_response(response) if average else None, samples, seed)
    return Estimate(found.value.reshape(lead), found.standard_error.reshape(lead))


def gaussian_dominance(low: AbstractStimulus, high: AbstractStimulus, w: Fields) -> Float[np.ndarray, " fields"]:
    """(2/pi) atan(s1/s0): the integral that the behaviour notes leaves standing."""
    power = np.asarray(jnp.einsum("cup,up->cu", products([low, high])(jnp.asarray(w)), jnp.asarray(w)))
    return 2 / np.pi * np.arctan2(np.sqrt(power[1]), np.sqrt(power[0]))


def even_response(response: str | Callable) -> Callable:
    if callable(response):
        return response
    if response not in RESPONSES:
        raise setting_error("dominance", "response", response, f"one of {', '.join(RESPONSES)}, or an even function")
    return RESPONSES[response]


def _sampled(low, high, w: Fields, average: Callable | None, samples: int, seed: int) -> Estimate:
    mean, fields = Mean(), jnp.asarray(w)
    for index, n in batches(samples, w.shape[1] * (len(w) if average else 1)):
        x0, x1 = (draw(stimulus, seed, c, index, n) for c, stimulus in enumerate((low, high)))
        spreads = [spread_of(x, fields, shape=low.shape, average=average) for x in (x0, x1)]
        mean.add(_wins(*spreads))
    return mean.estimate()


@jax.jit
def _wins(low: Float[Array, "n fields"], high: Float[Array, "n fields"]) -> Float[Array, "n fields"]:
    # Sums of the same +-1 in another order differ by rounding only: that is a tie, whatever the size of w.
    tie = jnp.abs(high - low) <= 1e-9 * (jnp.abs(high) + jnp.abs(low))
    return jnp.where(tie, 0.5, high > low)


@functools.partial(jax.jit, static_argnames=("shape", "average"))
def spread_of(
    x: Float[Array, "n pixels"], w: Float[Array, "fields pixels"], *, shape: tuple[int, ...], average: Callable | None
) -> Float[Array, "n fields"]:
    """How hard each sample drives each field: its squared response, or an even function averaged over all places."""
    if average is None:
        return (x @ w.T) ** 2
    local = circular_correlate(x.reshape(-1, 1, *shape), w.reshape(-1, *shape), len(shape))
    return jnp.mean(average(local), axis=tuple(range(-len(shape), 0)))


# Fields that might dominate ------------------------------------------------------------------------------------------


@in_float64
def difference_of_means(task: Task) -> tuple[float, Float[np.ndarray, "*pixels"]]:
    """Leading eigenvalue and eigenvector of S1 - S0, which maximises E<w,X1>^2 - E<w,X0>^2 among fields of norm 1.

    S0 and S1 are the covariances of the two classes of ``task``, S1 that of the higher label. The constant field for
    lengthscale tasks; not the field of largest dominance in general (end of section 2 of the behaviour notes).
    """
    low, high = two_classes(task, "difference_of_means")
    values, vectors = np.linalg.eigh(high.covariance_matrix() - low.covariance_matrix())
    leading = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    return float(values[-1]), leading.reshape(task.shape)


def gabor_candidates(
    shape: tuple[int, ...], *, widths: Any = (1.0, 2.0, 4.0), periods: Any = (np.inf, 16.0, 8.0)
) -> dict[str, Float[np.ndarray, "*pixels"]]:
    """Gaussian windows times a cosine along the last axis, of unit norm and centred on pixel 0, by name.

    ``shape``: the sides of the ring or torus. One field for each of ``widths``, the standard deviations of the window,
    with each of ``periods``, those of the cosine, all in pixels; period inf is a plain bump.
    """
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
    """One field: its dominance at one place and averaged over places, with standard errors, and its localization.

    ``pointwise`` and ``averaged`` are what :func:`dominance` gives the field ``name`` without and with ``average``,
    between 0 and 1, with standard errors ``pointwise_error`` (0 in closed form) and ``averaged_error``. ``ipr``: its
    inverse participation ratio, 1/N where flat and 1 for a single pixel.
    """

    name: str
    pointwise: float
    pointwise_error: float
    averaged: float
    averaged_error: float
    ipr: float


@in_float64
def compare_dominance(
    task: Task, fields: dict[str, Any] | None = None, *, samples: int = 100_000, seed: int = 0
) -> tuple[DominanceRow, ...]:
    """Fields side by side, the highest pointwise dominance first.

    **task**: two classes of different labels. **samples**: pairs to draw where there is no closed form, from **seed**.
    **fields**: by name, each (*pixels). By default: the constant, the leading eigenvector of S1 - S0, the field (S0 +
    S1)^-1 S1 e_0 that a localized gate leads to, and Gabors.
    """
    candidates = _default_fields(task) if fields is None else {n: np.asarray(w, float) for n, w in fields.items()}
    if not candidates:
        raise setting_error("compare_dominance", "fields", fields, "at least one field")
    stack = np.stack(list(candidates.values()))
    near, far = (dominance(task, stack, average=a, samples=samples, seed=seed) for a in (False, True))
    local = ipr(stack, ndim=len(task.shape))
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
