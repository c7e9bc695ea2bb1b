"""f(w) = E[1(<w,X> >= 0) X], the mean input that a ReLU neuron sees through its own gate (Eq. 5 of the neuron notes).

It is the gradient of E ReLU(<w,X>) and the only thing that a single ReLU neuron's flow knows of a class beyond its
covariance. Exact for Gaussian and elliptical laws, Ising rings and every law of few states; for a Gaussian copula at
fields of one pixel, where Eq. 36 of the network notes is left blank.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError, setting_error
from .._types import Array, Float
from ..stimuli import AbstractStimulus, checked_stimulus
from ._checks import checked_fields
from ._estimate import Estimate, batches, draw, exactly
from ._float64 import in_float64
from ._input_gates import exact_gate
from ._transfer import TERMS, AbstractGate, SeriesGate, series_gate

Flat = Float[np.ndarray, "fields n"]
METHODS = ("exact", "effective", "windows", "sampled")
TOGETHER = 32
"""Fields whose series are summed side by side; more would need memory and gain nothing."""


@in_float64
def mean_gated_input(
    stimulus: AbstractStimulus,
    w: Any,
    *,
    method: str = "exact",
    samples: int = 1_000_000,
    seed: int = 0,
    tolerance: float = 1e-5,
) -> Estimate:
    """f(w) for samples X of a ``stimulus``, with its standard error.

    **w**: one field (*pixels) or many (..., *pixels), none of zeros; f has its shape. **method**:

    - "exact": closed form, transfer matrices or a sum over states; refused where there is none. On Ising rings of more
      than 24 spins the series is lengthened until its estimated error, returned as the standard error, is below
      ``tolerance`` or 8192 terms are reached.
    - "effective": phi(a)/2 of the paper's Lemma 3.1, an approximation.
    - "windows": by ``Windows``, an approximation that holds through localization, too; of the candidates that
      ``Windows.choose`` knows, the one that is best at these fields, whose error is measured and returned as the
      standard error, the same for every pixel of a field.
    - "sampled": Monte Carlo with ``samples`` draws from ``seed``.
    """
    checked_stimulus("mean_gated_input", stimulus)
    if method not in METHODS:
        raise setting_error("mean_gated_input", "method", method, f"one of {', '.join(METHODS)}")
    array = checked_fields("mean_gated_input", w, stimulus.shape)
    flat = array.reshape(-1, int(np.prod(stimulus.shape)))
    if method == "exact":
        found = _exact(stimulus, flat, tolerance)
    elif method == "sampled":
        found = _sampled(stimulus, flat, samples, seed)
    else:
        found = _effective(stimulus, flat) if method == "effective" else _windows(stimulus, flat)
    return Estimate(found.value.reshape(array.shape), found.standard_error.reshape(array.shape))


# Exact ---------------------------------------------------------------------------------------------------------------


def has_exact_input(stimulus: AbstractStimulus, w: Flat) -> bool:
    """Whether ``method="exact"`` would give an answer."""
    return exact_gate(stimulus, 1.0) is not None or _one_pixel(stimulus, w) is not None


def _exact(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate:
    single, factor = stimulus.multiple_of()
    found = _exact_of_one(single, np.sign(factor) * w, tolerance / abs(factor))
    return Estimate(factor * found.value, abs(factor) * found.standard_error)


def _exact_of_one(stimulus: AbstractStimulus, w: Flat, tolerance: float) -> Estimate:
    gate = exact_gate(stimulus, 1.0)
    if isinstance(gate, SeriesGate):
        return _lengthened(gate.shrink, w, tolerance)
    if gate is not None:
        return exactly(_each(gate, jnp.asarray(w))[0])
    found = _one_pixel(stimulus, w)
    if found is not None:
        return found
    kinds = "Gaussian, elliptical and Ising stimuli, laws of few states, and copulas at fields of a single pixel"
    name = type(stimulus).__name__
    raise SettingError(
        f"mean_gated_input: no exact form is known for {name} at this w; there is one for {kinds}; "
        "use method='effective', 'windows' or 'sampled'"
    )


@eqx.filter_jit
def _each(gate: AbstractGate, w: Float[Array, "fields n"]) -> tuple[Float[Array, "fields n"], Float[Array, " fields"]]:
    return jax.lax.map(gate, w, batch_size=TOGETHER)


def _lengthened(shrink: Any, w: Flat, tolerance: float) -> Estimate:
    """The series of an Ising ring, longer and longer for the fields whose error is still too large."""
    terms = 256
    value, error = map(np.array, _each(series_gate(shrink, terms), jnp.asarray(w)))
    while terms < 2 * TERMS and np.any(rough := error > tolerance):
        terms *= 2
        value[rough], error[rough] = _each(series_gate(shrink, terms), jnp.asarray(w[rough]))
    return Estimate(value, np.broadcast_to(error[:, None], value.shape))


def _one_pixel(stimulus: AbstractStimulus, w: Flat) -> Estimate | None:
    """Fields of a single pixel each, where what such a field sees is known and the same at every pixel."""
    if np.any(np.count_nonzero(w, axis=1) != 1) or not stimulus.shift_invariant:
        return None
    response = stimulus.one_pixel_input()
    if response is None:
        return None
    places = [np.unravel_index(int(np.argmax(np.abs(field))), response.shape) for field in w]
    up = np.stack([np.roll(response, place, axis=tuple(range(response.ndim))).ravel() for place in places])
    return exactly(np.where(w.sum(axis=1, keepdims=True) > 0, up, stimulus.mean().ravel() - up))


# Approximate and sampled ---------------------------------------------------------------------------------------------


def _effective(stimulus: AbstractStimulus, w: Flat) -> Estimate:
    """phi(a)/2 with a = S w/sqrt(w'Sw): Lemma 3.1 of the paper."""
    from .flows import effective_input

    return exactly(effective_input(stimulus, w.reshape(-1, *stimulus.shape)).reshape(w.shape), float("nan"))


def _windows(stimulus: AbstractStimulus, w: Flat) -> Estimate:
    from .windows import Windows

    windows, errors = Windows.best(stimulus, w.reshape(-1, *stimulus.shape))
    value = windows.mean_gated_input(w.reshape(-1, *stimulus.shape)).reshape(w.shape)
    spread = errors * np.linalg.norm(value, axis=1) / np.sqrt(w.shape[1])
    return Estimate(value, np.broadcast_to(spread[:, None], w.shape))


def _sampled(stimulus: AbstractStimulus, w: Flat, samples: int, seed: int) -> Estimate:
    total, squares = np.zeros(w.shape), np.zeros(w.shape)
    for index, n in batches(samples, w.shape[1]):
        x = np.asarray(draw(stimulus, seed, 0, index, n), float)
        gates = (x @ w.T >= 0).T.astype(float)
        total += gates @ x
        squares += gates @ x**2
    mean = total / samples
    return Estimate(mean, np.sqrt(np.maximum(squares / samples - mean**2, 0) / samples))
