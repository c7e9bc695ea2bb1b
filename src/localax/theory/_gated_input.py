"""f(w) = E[1(<w,X> >= 0) X], the mean input that a ReLU neuron sees through its own gate (Eq. 5 of seed 003).

It is the gradient of E ReLU(<w,X>) and the only thing that a single ReLU neuron's flow knows of a class beyond its
covariance. Exact for Gaussian and elliptical laws, Ising rings and every law of few states; for a Gaussian copula at
fields of one pixel, where Eq. 36 of seed 000 is left blank.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._math import normal_nodes
from .._settings import finite_array, wrong
from .._types import Array, Float
from ..stimuli import AbstractCopula, AbstractNormalMap, AbstractStimulus, Erf, GaussianClone, Ising, Task
from ._estimate import Estimate, batches, draw, exactly
from ._joint import elliptical_constant, products, support
from ._transfer import SUMMED, TERMS, AbstractGate, ising_gate, series_gate
from ._x64 import require_x64

Flat = Float[np.ndarray, "fields n"]
METHODS = ("exact", "effective", "sampled")
TOGETHER = 32
"""Fields whose series are summed side by side; more would need memory and gain nothing."""


def mean_gated_input(
    stimulus: AbstractStimulus,
    w: Any,
    *,
    method: str = "exact",
    samples: int = 1_000_000,
    seed: int = 0,
    tolerance: float = 1e-5,
) -> Estimate:
    """f(w) of one field (\\*pixels) or many (..., \\*pixels), with its standard error.

    ``exact``: closed form, transfer matrices or a sum over states; refused where there is none. On Ising rings of more
    than 24 spins the series is lengthened until its estimated error, returned as the standard error, is below
    ``tolerance`` or 8192 terms are reached. ``effective``: phi(a)/2 of the paper's Lemma 3.1, an approximation.
    ``sampled``: Monte Carlo with ``samples`` draws.
    """
    require_x64()
    if not isinstance(stimulus, AbstractStimulus):
        raise wrong("mean_gated_input", "stimulus", stimulus, "a stimulus")
    if method not in METHODS:
        raise wrong("mean_gated_input", "method", method, f"one of {', '.join(METHODS)}")
    array = _fields(stimulus, w)
    flat = array.reshape(-1, int(np.prod(stimulus.shape)))
    if method == "exact":
        found = _exact(stimulus, flat, tolerance)
    else:
        found = _effective(stimulus, flat) if method == "effective" else _sampled(stimulus, flat, samples, seed)
    return Estimate(found.value.reshape(array.shape), found.standard_error.reshape(array.shape))


def _fields(stimulus: AbstractStimulus, w: Any) -> np.ndarray:
    shape = stimulus.shape
    expected = f"finite numbers whose last axes are the pixels {shape}"
    array = finite_array("mean_gated_input", "w", np.asarray(w), expected).astype(float)
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise wrong("mean_gated_input", "w", f"shape {array.shape}", expected)
    pixels = tuple(range(array.ndim - len(shape), array.ndim))
    if np.any(np.all(array == 0, axis=pixels)):
        raise wrong("mean_gated_input", "w", "a field of zeros", "different from 0 (f jumps there)")
    return array


# Exact ---------------------------------------------------------------------------------------------------------------


def _exact(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate:
    for known in (_elliptical, _shifted_gaussian, _ising, _finite, _one_pixel):
        found = known(stimulus, w, tolerance)
        if found is not None:
            return found
    kinds = "Gaussian, elliptical and Ising stimuli, pulses, Empirical, and copulas at fields of a single pixel"
    name = type(stimulus).__name__
    raise ValueError(
        f"mean_gated_input: no exact form is known for {name} at this w; there is one for {kinds}; "
        "use method='effective' or 'sampled'"
    )


def has_exact_input(stimulus: AbstractStimulus, w: Flat) -> bool:
    """Whether ``method="exact"`` would give an answer; cheap but for finite laws."""
    if isinstance(stimulus, Ising) or _one_pixel(stimulus, w, 0.0) is not None:
        return True
    return any(known(stimulus, w, 0.0) is not None for known in (_elliptical, _shifted_gaussian, _finite))


def _elliptical(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate | None:
    """(C/2) S w/sqrt(w'Sw)."""
    del tolerance
    constant = elliptical_constant(stimulus)
    if constant is None:
        return None
    moved = np.asarray(products([stimulus])(jnp.asarray(w)))[0]
    return exactly(constant / 2 * moved / np.sqrt(np.sum(w * moved, axis=1, keepdims=True)))


def _shifted_gaussian(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate | None:
    """A Gaussian of mean m: m Phi(<w,m>/s) + (S w/s) density(<w,m>/s)."""
    del tolerance
    if not isinstance(stimulus, GaussianClone):
        return None
    mean, moved = stimulus.mean().ravel(), np.asarray(products([stimulus])(jnp.asarray(w)))[0]
    spread = np.sqrt(np.sum(w * moved, axis=1, keepdims=True))
    t = (w @ mean)[:, None] / spread
    return exactly(mean * special.ndtr(t) + moved / spread * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi))


def _ising(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate | None:
    if not isinstance(stimulus, Ising):
        return None
    terms = 256
    gate = ising_gate(stimulus, 1.0) if stimulus.size <= SUMMED else series_gate(stimulus, terms)
    value, error = map(np.array, _each(gate, jnp.asarray(w)))
    while terms < 2 * TERMS and np.any(rough := error > tolerance):
        terms *= 2
        value[rough], error[rough] = _each(series_gate(stimulus, terms), jnp.asarray(w[rough]))
    return Estimate(value, np.broadcast_to(error[:, None], value.shape))


@eqx.filter_jit
def _each(gate: AbstractGate, w: Float[Array, "fields n"]) -> tuple[Float[Array, "fields n"], Float[Array, " fields"]]:
    return jax.lax.map(gate, w, batch_size=TOGETHER)


def _finite(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate | None:
    """The sum over all states; ties are open gates, up to rounding."""
    del tolerance
    law = support(stimulus)
    if law is None:
        return None
    rows = []
    for field in w:
        gate = law.states @ field >= -1e-12 * np.sum(np.abs(field)) * np.max(np.abs(law.states))
        rows.append((law.probabilities * gate) @ law.states)
    return exactly(np.stack(rows))


def _one_pixel(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate | None:
    """A field on one pixel sees the sign of the latent normal there: E[1(Z_i > 0) T(Z_j)]."""
    del tolerance
    if not isinstance(stimulus, AbstractCopula) or np.any(np.count_nonzero(w, axis=1) != 1):
        return None
    row = np.asarray(stimulus.latent.row)
    response = one_pixel_response(stimulus.marginal)(np.clip(row, -1, 1))
    places = [np.unravel_index(int(np.argmax(np.abs(field))), row.shape) for field in w]
    moved = [np.roll(response, place, axis=tuple(range(row.ndim))).ravel() for place in places]
    return exactly(np.sign(w.sum(axis=1, keepdims=True)) * np.stack(moved))


def one_pixel_response(marginal: AbstractNormalMap) -> Callable[[np.ndarray], np.ndarray]:
    """E[1(Z_i > 0) T(Z_j)] as a function of the latent correlation r; for symmetric T.

    For T = erf(g z)/norm it is atan(r/sqrt(1/(2 g^2) + 1 - r^2))/(pi norm) (Eqs. 72 to 74 of seed 000 have 2/sqrt(pi)
    for the constant); otherwise E[T(Z) Phi(r Z/sqrt(1 - r^2))] by quadrature.
    """
    if isinstance(marginal, Erf):
        g, norm = float(marginal.gain), float(marginal.norm)
        return lambda r: np.arctan2(r, np.sqrt(1 / (2 * g**2) + 1 - r**2)) / (np.pi * norm)
    z, weight = normal_nodes()
    terms = weight * marginal._exactly(z)

    def response(r: np.ndarray) -> np.ndarray:
        slope = np.ravel(r) / np.sqrt(np.maximum(1 - np.ravel(r) ** 2, 1e-300))
        return np.stack([np.sum(terms * special.ndtr(s * z)) for s in slope]).reshape(np.shape(r))

    return response


# Approximate and sampled ---------------------------------------------------------------------------------------------


def _effective(stimulus: AbstractStimulus, w: Flat) -> Estimate:
    """phi(a)/2 with a = S w/sqrt(w'Sw): Lemma 3.1 of the paper."""
    from ._vector_field import effective_field

    field = effective_field(Task([stimulus], [1.0]), asker="mean_gated_input")
    pull = jax.vmap(lambda one: field._pull(one, field.covariances(one)))
    return exactly(np.asarray(pull(jnp.asarray(w.reshape(-1, *stimulus.shape)))).reshape(w.shape) / 2, float("nan"))


def _sampled(stimulus: AbstractStimulus, w: Flat, samples: int, seed: int) -> Estimate:
    total, squares = np.zeros(w.shape), np.zeros(w.shape)
    for index, n in batches(samples, w.shape[1]):
        x = np.asarray(draw(stimulus, seed, 0, index, n), float)
        gates = (x @ w.T >= 0).T.astype(float)
        total += gates @ x
        squares += gates @ x**2
    mean = total / samples
    return Estimate(mean, np.sqrt(np.maximum(squares / samples - mean**2, 0) / samples))
