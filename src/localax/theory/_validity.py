"""How far the effective flow can be trusted: the error of Lemma 3.1, assumption A3 along a flow, the limit N -> inf."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import Number, checked_count, instance, wrong
from .._trajectory import Trajectory
from .._types import Array, Float
from ..stimuli import AbstractStimulus, Task
from ._effective import checked_start, effective_flow
from ._law import law_of
from ._vector_field import AmplifierLike, EffectiveField, effective_field
from ._x64 import require_x64

BATCHES = 20


@dataclass(frozen=True, eq=False)
class GradientError:
    """|phi/2 - f| / |f| for each field; ``noise``: the part of it that the samples behind f alone would make."""

    relative: np.ndarray
    noise: np.ndarray


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

    f is ``exact`` where given, else a mean over n samples (float32 draws summed in float64) and, on a ring or torus,
    over all their shifts and signs, with ``noise`` from 20 batches.
    """
    require_x64()
    asker = "effective_gradient_error"
    instance(asker, "stimulus", stimulus, AbstractStimulus, "a stimulus")
    fields = checked_start(asker, w, stimulus.shape)
    if exact is None:
        truth, noise = _sampled(stimulus, fields, checked_count(asker, n, BATCHES), seed)
    else:
        truth, noise = np.asarray(exact, float).reshape(fields.shape), np.zeros(len(fields))
    field = effective_field(Task([stimulus], [1.0]), amplifier, asker=asker)
    gap = np.asarray(_half_phi(field, jnp.asarray(fields))) - truth
    size = _norm(truth)
    return GradientError(_norm(gap) / size, noise / size)


@eqx.filter_jit
def _half_phi(field: EffectiveField, fields: Float[Array, "seeds *pixels"]) -> Float[Array, "seeds *pixels"]:
    return jax.vmap(lambda w: field.pulls[0](w, field.covariances(w)[0]) / 2)(fields)


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
    shape = x.shape[1:]
    axes = tuple(range(1, x.ndim))
    spectra = jnp.fft.rfftn(x.astype(jnp.float64), axes=axes)

    def single(w: Float[Array, "*pixels"]) -> Float[Array, "*pixels"]:
        responses = jnp.fft.irfftn(spectra * jnp.conj(jnp.fft.rfftn(w)), s=shape, axes=axes)
        signs = jnp.fft.rfftn(jnp.sign(responses), axes=axes)
        mean = jnp.mean(spectra * jnp.conj(signs), axis=0) / w.size
        return jnp.fft.irfftn(mean, s=shape) / 2

    return jax.lax.map(single, fields)


@dataclass(frozen=True, eq=False)
class Lindeberg:
    """How much one pixel can decide of the preactivation <w,X>: 0 as A3 asks for N -> inf, 1 for one pixel alone.

    ``share``: the largest share of Var<w,X> that a single pixel explains, max_i (S w)_i^2/(s_i^2 w S w), the square
    of the amplifier's argument. ``truncated``: Lindeberg's own ratio, sum_i E[(w_i X_i)^2; |w_i X_i| > e B] over
    sum_i E[(w_i X_i)^2] with B^2 = Var<w,X>: the part of the variance that comes in large single terms.
    """

    share: np.ndarray
    truncated: np.ndarray


def lindeberg(w: Trajectory | Any, stimulus: AbstractStimulus, *, threshold: Number = 0.5) -> Lindeberg:
    """A measure of assumption A3 for fields or along a trajectory, shaped like its axes before the pixels.

    ``threshold`` is the e of Lindeberg's ratio. X is taken without conditioning on one of its pixels, which changes
    each term by O(share).
    """
    require_x64()
    instance("lindeberg", "stimulus", stimulus, AbstractStimulus, "a stimulus")
    fields = np.asarray(w.weights if isinstance(w, Trajectory) else w, float)
    lead = fields.shape[: fields.ndim - len(stimulus.shape)]
    if fields.shape[len(lead) :] != stimulus.shape:
        raise wrong("lindeberg", "w", f"shape {fields.shape}", f"an array that ends in {stimulus.shape}")
    flat = fields.reshape(-1, *stimulus.shape)
    images, variances = _images(stimulus, flat)
    flat = flat.reshape(len(flat), -1)
    total = np.sum(flat * images, axis=1, keepdims=True)
    share = np.max(images**2 / (variances * total), axis=1)
    terms = flat**2 * variances
    kept = terms * _tail(stimulus, threshold * np.sqrt(total / np.where(terms > 0, terms, np.nan)))
    return Lindeberg(share.reshape(lead), (kept.sum(1) / terms.sum(1)).reshape(lead))


def _images(stimulus: AbstractStimulus, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    field = effective_field(Task([stimulus], [0.0]), asker="lindeberg")
    images = np.asarray(jax.vmap(field.covariances)(jnp.asarray(fields)))[:, 0]
    variances = stimulus.covariance().ravel()[0] if stimulus.shift_invariant else np.diag(stimulus.covariance_matrix())
    return images.reshape(len(fields), -1), np.asarray(variances)


def _tail(stimulus: AbstractStimulus, level: np.ndarray) -> np.ndarray:
    """E[X^2; |X| > level] for the law of a pixel of variance 1; to about 1e-3, the weight of one node."""
    law = law_of(stimulus.marginal)
    order = np.argsort(law.magnitude)
    square = (law.weight * law.magnitude**2)[order]
    beyond = np.append(np.cumsum(square[::-1])[::-1], 0.0)
    return beyond[np.searchsorted(law.magnitude[order], np.nan_to_num(level, nan=np.inf), side="right")]


@dataclass(frozen=True, eq=False)
class PDELimit:
    """Fields v = N w on rings of growing size, at the first ring's points, and their distance from the last one's."""

    sizes: tuple[int, ...]
    fields: np.ndarray
    errors: np.ndarray


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
    grow in proportion to N; ``start`` is v at positions in [0, 1); ``time`` is T. Each size must divide the next.
    """
    require_x64()
    if len(sizes) < 2 or any(b % a or b <= a for a, b in pairwise(sizes)):
        raise wrong("pde_limit", "sizes", sizes, "at least two whole numbers, each a divisor of the next")
    fields = []
    for size in sizes:
        w0 = np.asarray(start(np.arange(size) / size), float) / size
        flow = effective_flow(tasks(size), w0, times=[time / size], amplifier=amplifier, rtol=1e-9)
        fields.append(flow.final[0, 0, :: size // sizes[0]] * size)
    gaps = [np.linalg.norm(v - fields[-1]) / np.linalg.norm(fields[-1]) for v in fields[:-1]]
    return PDELimit(tuple(sizes), np.stack(fields), np.array(gaps))
