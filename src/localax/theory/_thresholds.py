"""When does the flat field give way? An explicit criterion for the effective flow (C8; "not possible" in the paper).

At the flat field w = c every pixel has the same correlation with the preactivation, a_c = sqrt(lambda_c(0)/N), and
mode k grows at sum_c p_c l_ck [ y_c phi_c'(a_c)/(c sqrt(N l_c0)) - 1 ]. For labels 0, 1 that is
(1/2) l_1k [ E(a) (1 + r_0) - (1 + r_k) ] with the elasticity E(a) = a phi'(a)/phi(a): the flat field is unstable
if and only if E(a) > min_k (1 + r_k)/(1 + r_0).
"""

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from .._math import spectrum
from .._settings import Number, Size, wrong
from .._types import Float
from ..stimuli import NLGP, AbstractStimulus, Kur, Task
from ._law import law_of, root
from ._vector_field import effective_field
from ._x64 import require_x64


def flat_growth_rates(task: Task) -> Float[np.ndarray, "*pixels"]:
    """Growth rate of every Fourier mode at the flat fixed point of the effective flow; entry 0 is the flat mode."""
    require_x64()
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant:
        raise wrong("flat_growth_rates", "task", task, "a Task on a ring or torus with one label per class")
    shares, labels, size = np.asarray(task.proportions), np.asarray(task.labels, float), int(np.prod(task.shape))
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    flat = modes.reshape(len(modes), -1)[:, 0]
    value, slope = np.transpose([_phi(s, math.sqrt(l / size)) for s, l in zip(task.stimuli, flat, strict=True)])
    height = np.sum(shares * labels * value) / np.sum(shares * flat)
    if not height > 0:
        expected = "of labels under which a flat field can rest (on the whole positive)"
        raise wrong("flat_growth_rates", "task", labels.tolist(), expected)
    gain = shares * (labels * slope / (height * np.sqrt(size * flat)) - 1)
    rates = np.tensordot(gain, modes, 1)
    rates.flat[0] = -np.sum(shares * flat)
    return rates


def _phi(stimulus: AbstractStimulus, a: float) -> tuple[float, float]:
    """phi(a) and phi'(a) of a class, by numpy: a new law for every setting would be compiled again each time."""
    law = law_of(stimulus.marginal)
    r = a / law.scale
    value, change = law.amplify(np.array([r / math.sqrt(1 - r**2)]))
    return law.scale * value[0], change[0] * (1 - r**2) ** -1.5


def flat_height(task: Task) -> float:
    """The weight of every pixel at the flat fixed point of the effective flow."""
    require_x64()
    field = effective_field(task, asker="flat_height")
    ones = jnp.ones(task.shape)
    # The flow at c is p y phi - c sum p l_0 at every pixel, and its first term does not depend on c.
    image = np.asarray(field.covariances(ones))
    damping = np.tensordot(np.asarray(task.proportions), image, 1)
    return float(np.mean((np.asarray(field(ones)) + damping) / damping))


def flat_is_unstable(task: Task) -> bool:
    """Whether the flat field loses to some wave under the effective flow."""
    return bool(flat_growth_rates(task).ravel()[1:].max() > 0)


def critical_value(tasks: Callable[[float], Task], low: Number, high: Number) -> float:
    """The setting between ``low`` and ``high`` at which the flat field of ``tasks(setting)`` changes its stability."""
    require_x64()

    def fastest(value: Number) -> float:
        return float(flat_growth_rates(tasks(value)).ravel()[1:].max())

    if fastest(low) * fastest(high) > 0:
        expected = "settings of which only one leaves the flat field stable"
        raise wrong("critical_value", "low, high", (low, high), expected)
    return root(fastest, low, high)


def critical_gain(short: Number, long: Number, size: Size, *, low: Number = 1e-3, high: Number = 100.0) -> float:
    """The NLGP gain above which the flat field is unstable, for two lengthscales (labels 0 and 1) on N pixels."""

    def tasks(gain: Number) -> Task:
        return Task([NLGP(size, short, gain), NLGP(size, long, gain)], [0, 1])

    return critical_value(tasks, low, high)


def critical_k(short: Number, long: Number, size: Size, *, low: Number = 4.5, high: Number = 30.0) -> float:
    """The Kur exponent above which the flat field is unstable, for two lengthscales (labels 0 and 1) on N pixels."""

    def tasks(k: Number) -> Task:
        return Task([Kur(size, short, k), Kur(size, long, k)], [0, 1])

    return critical_value(tasks, low, high)
