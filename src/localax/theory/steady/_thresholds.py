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

from ..._errors import setting_error
from ..._math import spectrum
from ..._types import Float
from ...spec import Number, Size
from ...stimuli import NLGP, AbstractStimulus, Kur, Task
from .._checks import flat_damping, unbalanced
from .._float64 import in_float64
from .._pixel_law import pixel_law, root
from ..flows import effective_field

ROUNDING = 1e-9
"""Share of the largest eigenvalue below which one is rounding, and its ratio to another's means nothing."""


@in_float64
def flat_growth_rates(task: Task) -> Float[np.ndarray, "*pixels"]:
    """Growth rate of every Fourier mode at the flat fixed point of the effective flow; entry 0 is the flat mode.

    ``task``: classes on a ring or torus with one label each, positive on the whole, so that a flat field can rest. The
    rates are shaped like its pixels and ordered like the FFT's frequencies.
    """
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant:
        raise setting_error("flat_growth_rates", "task", task, "a Task on a ring or torus with one label per class")
    shares, labels, size = np.asarray(task.proportions), np.asarray(task.labels, float), int(np.prod(task.shape))
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    flat, damping = modes.reshape(len(modes), -1)[:, 0], flat_damping("flat_growth_rates", shares, modes)
    for pulling in modes[labels != 0]:  # each must see the flat field that it holds up
        flat_damping("flat_growth_rates", np.ones(1), pulling[None])
    drawn = zip(task.stimuli, flat, labels, strict=True)
    value, slope = np.transpose([_phi(s, math.sqrt(l / size)) if y else (0.0, 0.0) for s, l, y in drawn])
    height = np.sum(shares * labels * value) / damping
    if not height > 0:
        raise unbalanced("flat_growth_rates", labels)
    gain = shares * (labels * slope / (height * np.sqrt(size * flat)) - 1)
    rates = np.tensordot(gain, modes, 1)
    rates.flat[0] = -damping
    return rates


def _phi(stimulus: AbstractStimulus, a: float) -> tuple[float, float]:
    """phi(a) and phi'(a) of a class, by numpy: a new law for every setting would be compiled again each time."""
    law = pixel_law(stimulus.marginal)
    # Where all pixels are one, a is s: phi has a slope there, which nodes resolve up to t = 1e5.
    r = min(a / law.scale, 1.0)
    rest = max(1 - r**2, 1e-10)
    value, change = law.amplify(np.array([r / math.sqrt(rest)]))
    return law.scale * value[0], change[0] * rest**-1.5


@in_float64
def flat_height(task: Task) -> float:
    """The weight of every pixel at the effective flow's flat fixed point; ``task`` as in :func:`flat_growth_rates`."""
    field = effective_field(task, asker="flat_height")
    ones = jnp.ones(task.shape)
    # The flow at c is p y phi - c sum p l_0 at every pixel, and its first term does not depend on c.
    image = np.asarray(field.covariances(ones))
    damping = np.tensordot(np.asarray(task.proportions), image, 1)
    return float(np.mean((np.asarray(field(ones)) + damping) / damping))


@in_float64
def flat_is_unstable(task: Task) -> bool:
    """Whether the flat field loses to some wave under the effective flow; ``task`` as in :func:`flat_growth_rates`."""
    return bool(flat_growth_rates(task).ravel()[1:].max() > 0)


@in_float64
def critical_excess_kurtosis(task: Task) -> float:
    """The excess kurtosis below which the flat field of a large ring or torus gives way, to leading order in 1/N.

    At a small a = sqrt(l_10/N) the elasticity is 1 - (kappa - 3) a^2/3, where the sixth moment is finite: the criterion
    is kappa - 3 < -3 (r_1 - r_0)/((1 + r_0) a^2), r_1 the least ratio of a wave. ``task``: two classes on a ring or
    torus in equal shares, with the labels 0 and 1; their covariances alone count, not their kurtosis.
    """
    expected = "a Task on a ring or torus with two classes of label 0 and 1 in equal shares"
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant:
        raise setting_error("critical_excess_kurtosis", "task", task, expected)
    if np.asarray(task.labels).tolist() != [0, 1] or np.ptp(np.asarray(task.proportions)) > 0:
        raise setting_error("critical_excess_kurtosis", "task", np.asarray(task.labels).tolist(), expected)
    short, long = (spectrum(s.covariance()).ravel() for s in task.stimuli)
    seen = long > ROUNDING * long.max()
    ratio = np.divide(short, long, where=seen, out=np.full(long.shape, np.inf))
    variance = task.stimuli[1].marginal.variance()
    return float(-3 * (ratio[1:].min() - ratio[0]) / (1 + ratio[0]) * long.size * variance / long[0])


@in_float64
def critical_value(
    tasks: Callable[[float], Task],
    low: Number,
    high: Number,
    *,
    rates: Callable[[Task], np.ndarray] = flat_growth_rates,
) -> float:
    """The setting between ``low`` and ``high`` at which the flat field of ``tasks(setting)`` changes its stability.

    ``rates``: growth rates of a task, the flat mode first: those of the effective flow, or
    :func:`edgeworth_growth_rates`. For sampled ones see :func:`exact_critical_value`.
    """

    def fastest(value: Number) -> float:
        return float(rates(tasks(value)).ravel()[1:].max())

    ends = fastest(low), fastest(high)
    if ends[0] * ends[1] > 0:
        found = "unstable" if ends[0] > 0 else "stable"
        expected = f"settings of which only one leaves the flat field stable (it is {found} at both)"
        raise setting_error("critical_value", "low, high", (low, high), expected)
    return root(fastest, low, high)


@in_float64
def critical_gain(short: Number, long: Number, size: Size, *, low: Number = 1e-3, high: Number = 100.0) -> float:
    """The NLGP gain above which the flat field is unstable, for two lengthscales on a ring or torus.

    ``short`` and ``long``: the lengthscales in pixels of the classes of label 0 and 1, in equal shares. ``size``:
    pixels of the ring, or (height, width). ``low`` and ``high``: gains to search between.
    """

    if not short < long:  # phi of NLGP is super-linear: then the flat field is unstable at every gain
        expected = "two lengthscales, the first, that of label 0, shorter than the second"
        raise setting_error("critical_gain", "short, long", (short, long), expected)

    def tasks(gain: Number) -> Task:
        return Task([NLGP(size, short, gain), NLGP(size, long, gain)], [0, 1])

    return critical_value(tasks, low, high)


@in_float64
def critical_k(short: Number, long: Number, size: Size, *, low: Number = 4.5, high: Number = 30.0) -> float:
    """The Kur exponent above which the flat field is unstable, for two lengthscales on a ring or torus.

    ``short``, ``long`` and ``size``: as in :func:`critical_gain`. ``low`` and ``high``: exponents to search between.
    """

    def tasks(k: Number) -> Task:
        return Task([Kur(size, short, k), Kur(size, long, k)], [0, 1])

    return critical_value(tasks, low, high)
