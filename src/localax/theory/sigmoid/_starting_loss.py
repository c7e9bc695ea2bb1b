"""The loss before training, ReLU against sigmoid, as the data leave the Gaussian (section 3 of the behaviour notes).

Its Eq. 25 is blank and its Eq. 27 unfinished. At b = 0 and for sign-symmetric data, with v_c = w'S_c w,

    erf:   L_E = sum_c p_c [y_c^2 + E s(h)^2],          E s^2 = (2/pi) asin(v/(1+v)) on Gaussian classes
    ReLU:  L_E = sum_c p_c [y_c^2 - 2 y_c <w, f_c(w)> + v_c/2].
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ...networks import ACTIVATIONS
from ...spec import finite_array
from ...stimuli import AbstractStimulus, Task
from .._estimate import Estimate, Mean, batches, draw, exactly
from .._float64 import in_float64
from .._gated_input import has_exact_input, mean_gated_input
from .._products import class_labels, is_centred_gaussian


@in_float64
def starting_loss(task: Task, w: Any, *, activation: str = "relu", samples: int = 200_000, seed: int = 0) -> Estimate:
    """L_E of a single unit without bias at the field ``w`` (*pixels), exact where its averages are, else sampled.

    **task**: sign-symmetric classes with one label each. **activation**: "relu" or "erf". **samples**: draws of every
    class whose average has no closed form, from **seed**.
    """
    labels = np.asarray(class_labels(task, "starting_loss"))
    field = finite_array("starting_loss", "w", np.asarray(w), f"numbers of shape {task.shape}").astype(float)
    if field.shape != task.shape:
        raise setting_error("starting_loss", "w", f"shape {field.shape}", f"numbers of shape {task.shape}")
    if activation not in ("relu", "erf"):
        raise setting_error("starting_loss", "activation", activation, "relu or erf")
    if not task.sign_symmetric:
        raise setting_error("starting_loss", "task", "a task without sign symmetry", "a task of sign-symmetric classes")
    term = _relu if activation == "relu" else _erf
    value, variance = 0.0, 0.0
    for c, (stimulus, share, label) in enumerate(zip(task.stimuli, task.proportions, labels, strict=True)):
        found = term(stimulus, field, float(label), samples, seed + c)
        value += share * (label**2 + float(found.value))
        variance += (share * float(found.standard_error)) ** 2
    return Estimate(np.asarray(value), np.asarray(np.sqrt(variance)))


def _relu(stimulus: AbstractStimulus, w: np.ndarray, label: float, samples: int, seed: int) -> Estimate:
    """E[ReLU^2] - 2 y E ReLU, with E ReLU = E|S|/2."""
    flat = w.ravel()
    half = float(flat @ stimulus.covariance_matrix() @ flat) / 2
    if label == 0:
        return exactly(half)
    if has_exact_input(stimulus, flat[None]):
        return exactly(half - 2 * label * float(np.sum(w * mean_gated_input(stimulus, w).value)))
    mean = _mean(stimulus, flat, samples, seed, jnp.abs)
    return Estimate(np.asarray(half - label * mean.value), np.asarray(np.abs(label) * mean.standard_error))


def _erf(stimulus: AbstractStimulus, w: np.ndarray, label: float, samples: int, seed: int) -> Estimate:
    """E s(h)^2; E s(h) = 0 by symmetry."""
    del label
    flat = w.ravel()
    if is_centred_gaussian(stimulus):
        power = float(flat @ stimulus.covariance_matrix() @ flat)
        return exactly(2 / np.pi * np.arcsin(power / (1 + power)))
    return _mean(stimulus, flat, samples, seed, lambda s: ACTIVATIONS["erf"](s) ** 2)


def _mean(stimulus: AbstractStimulus, w: np.ndarray, samples: int, seed: int, function: Any) -> Estimate:
    mean = Mean()
    for index, n in batches(samples, w.size):
        mean.add(function(draw(stimulus, seed, 0, index, n) @ jnp.asarray(w)))
    return mean.estimate()
