"""How far the effective flow can be trusted: the error of Lemma 3.1, assumption A3 along a flow, the limit N -> inf."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._math import circular_correlate
from ..._types import Array, Float
from ...spec import Number, checked_count
from ...stimuli import AbstractStimulus, Task, checked_stimulus
from ...trajectory import Trajectory
from .._checks import checked_start
from .._float64 import in_float64
from .._pixel_law import pixel_law
from .._products import products
from ._effective import effective_flow
from ._vector_field import AmplifierLike, effective_input

BATCHES = 20


@dataclass(frozen=True, eq=False)
class GradientError:
    """How far phi/2 is from f, one number per field.

    ``relative``: the norm of phi/2 - f over that of f. ``noise``: the part of it that the samples behind f alone would
    make; 0 where f was given.
    """

    relative: np.ndarray
    noise: np.ndarray


@in_float64
def effective_gradient_error(
    stimulus: AbstractStimulus,
    w: Any,
    *,
    exact: Any = None,
    n: int = 20_000,
    seed: int = 0,
    amplifier: AmplifierLike = None,
) -> GradientError:
    """The relative error of Lemma 3.1, phi(S w/sqrt(w S w))/2 against f(w) = E[1(<w,X> >= 0) X] (B-11).

    **stimulus**: the law of X, sign-symmetric. **w**: one field (*pixels) or many (field, *pixels). **exact**:
    f(w), shaped like **w**; where it is None, f is a mean over **n** samples (20 or more) from **seed** (float32 draws
    summed in float64) and, on a ring or torus, over all their shifts and signs, with ``noise`` from 20 batches.
    **amplifier**: as in :func:`effective_flow`.
    """
    asker = "effective_gradient_error"
    checked_stimulus(asker, stimulus)
    fields = checked_start(asker, w, stimulus.shape)
    if exact is None:
        truth, noise = _sampled(stimulus, fields, checked_count(asker, n, BATCHES), seed)
    else:
        truth, noise = np.asarray(exact, float).reshape(fields.shape), np.zeros(len(fields))
    gap = effective_input(stimulus, fields, amplifier) - truth
    size = _norm(truth)
    return GradientError(_norm(gap) / size, noise / size)


def _norm(fields: np.ndarray) -> np.ndarray:
    return np.linalg.norm(fields.reshape(len(fields), -1), axis=1)


def _sampled(stimulus: AbstractStimulus, fields: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """f(w) by Monte Carlo, and the norm of its standard error."""
    average = _orbit_mean if stimulus.shift_invariant else _plain_mean
    keys = jax.random.split(jax.random.key(seed), BATCHES)
    batches = [np.asarray(average(stimulus.sample(key, n // BATCHES), jnp.asarray(fields))) for key in keys]
    error = np.std(batches, axis=0, ddof=1) / np.sqrt(BATCHES)
    return np.mean(batches, axis=0), _norm(error)


@jax.jit
def _plain_mean(x: Float[Array, "n *pixels"], fields: Float[Array, "seeds *pixels"]) -> Float[Array, "seeds *pixels"]:
    """f = E[sign<w,X> X]/2 for sign-symmetric data."""
    flat = x.reshape(len(x), -1).astype(jnp.float64)
    gates = jnp.sign(fields.reshape(len(fields), -1) @ flat.T)
    return (gates @ flat / (2 * len(x))).reshape(fields.shape)


@jax.jit
def _orbit_mean(x: Float[Array, "n *pixels"], fields: Float[Array, "seeds *pixels"]) -> Float[Array, "seeds *pixels"]:
    """The same over all shifts of every sample: correlate, take signs, correlate back."""
    ndim, x = x.ndim - 1, x.astype(jnp.float64)

    def single(w: Float[Array, "*pixels"]) -> Float[Array, "*pixels"]:
        signs = jnp.sign(circular_correlate(x, w, ndim))
        return jnp.mean(circular_correlate(x, signs, ndim), axis=0) / (2 * w.size)

    return jax.lax.map(single, fields)


@dataclass(frozen=True, eq=False)
class Lindeberg:
    """How much one pixel can decide of the preactivation <w,X>: 0 as A3 asks for N -> inf, 1 for one pixel alone.

    ``share``: the largest share of Var<w,X> that a single pixel explains, max_i (S w)_i^2/(s_i^2 w S w), the square
    of the amplifier's argument. ``truncated``: Lindeberg's own ratio, ``sum_i E[(w_i X_i)^2; |w_i X_i| > e B]`` over
    sum_i E[(w_i X_i)^2] with B^2 = Var<w,X>: the part of the variance that comes in large single terms.
    """

    share: np.ndarray
    truncated: np.ndarray


@in_float64
def lindeberg(w: Trajectory | Any, stimulus: AbstractStimulus, *, threshold: Number = 0.5) -> Lindeberg:
    """A measure of assumption A3 for fields or along a trajectory, shaped like its axes before the pixels.

    ``w``: a ``Trajectory`` or an array (..., *pixels). ``stimulus``: the law of X. ``threshold`` is the e of
    Lindeberg's ratio. X is taken without conditioning on one of its pixels, which changes each term by O(share).
    """
    checked_stimulus("lindeberg", stimulus)
    fields = np.asarray(w.weights if isinstance(w, Trajectory) else w, float)
    lead = fields.shape[: fields.ndim - len(stimulus.shape)]
    if fields.shape[len(lead) :] != stimulus.shape:
        raise setting_error("lindeberg", "w", f"shape {fields.shape}", f"an array that ends in {stimulus.shape}")
    flat = fields.reshape(-1, *stimulus.shape)
    images, variances = _images(stimulus, flat)
    flat = flat.reshape(len(flat), -1)
    total = np.sum(flat * images, axis=1, keepdims=True)
    share = np.max(images**2 / (variances * total), axis=1)
    terms = flat**2 * variances
    kept = terms * _tail(stimulus, threshold * np.sqrt(total / np.where(terms > 0, terms, np.nan)))
    return Lindeberg(share.reshape(lead), (kept.sum(1) / terms.sum(1)).reshape(lead))


def _images(stimulus: AbstractStimulus, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat = fields.reshape(len(fields), -1)
    return np.asarray(products([stimulus])(jnp.asarray(flat)))[0], stimulus.pixel_variances().ravel()


def _tail(stimulus: AbstractStimulus, level: np.ndarray) -> np.ndarray:
    """E[X^2; |X| > level] for the law of a pixel of variance 1; to about 1e-3, the weight of one node."""
    law = pixel_law(stimulus.marginal)
    order = np.argsort(law.magnitude)
    square = (law.weight * law.magnitude**2)[order]
    beyond = np.append(np.cumsum(square[::-1])[::-1], 0.0)
    return beyond[np.searchsorted(law.magnitude[order], np.nan_to_num(level, nan=np.inf), side="right")]


@dataclass(frozen=True, eq=False)
class PDELimit:
    """Fields v = N w on rings of growing size, at the first ring's points, and their distance from the last one's.

    ``sizes``: N of each ring. ``fields`` (size, point): v at time T, at the points that all rings share. ``errors``:
    for every size but the last, the norm of its distance from the last field, relative to the last field's norm.
    """

    sizes: tuple[int, ...]
    fields: np.ndarray
    errors: np.ndarray


@in_float64
def pde_limit(
    tasks: Callable[[int], Task],
    start: Callable,
    *,
    sizes: Sequence[int],
    time: Number,
    amplifier: AmplifierLike = None,
) -> PDELimit:
    """The flow on ever finer rings (appendix B.2): with v = N w and T = N t it tends to the PDE

        dv/dT = sum_c p_c [ y_c phi_c(s_c * v/sqrt<s_c * v, v>) - s_c * v ],

    which is Eq. 8 with its factor 2 put right (B-05). ``tasks`` gives the task on N pixels, with lengthscales that
    grow in proportion to N; ``start`` is v at positions in [0, 1); ``time`` is T. ``sizes`` are the N, two
    or more, each a divisor of the next. ``amplifier``: as in :func:`effective_flow`.
    """
    if len(sizes) < 2 or any(b % a or b <= a for a, b in pairwise(sizes)):
        raise setting_error("pde_limit", "sizes", sizes, "at least two whole numbers, each a divisor of the next")
    fields = []
    for size in sizes:
        w0 = np.asarray(start(np.arange(size) / size), float) / size
        flow = effective_flow(tasks(size), w0, times=[time / size], amplifier=amplifier, rtol=1e-9)
        fields.append(flow.final[0, 0, :: size // sizes[0]] * size)
    gaps = [np.linalg.norm(v - fields[-1]) / np.linalg.norm(fields[-1]) for v in fields[:-1]]
    return PDELimit(tuple(sizes), np.stack(fields), np.array(gaps))
