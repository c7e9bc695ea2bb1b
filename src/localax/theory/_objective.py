"""What a ReLU neuron maximises: the loss of a field is lowest where a single number J of its direction is highest.

A ReLU is homogeneous, so the height of a field can be chosen after its direction, and what is left is

    min over the height of E(y - ReLU)^2 = E y^2 - (E[y ReLU])^2/E[ReLU^2] = E y^2 - J^2/4.

On sign-symmetric classes E ReLU = E|S|/2 and E ReLU^2 = E S^2/2 with S = <w,X>, so that J = sqrt(2 E y^2) C/sqrt(1+r):
C is Geary's ratio E|S|/sd(S) of the labelled class, r the ratio of the variances. Derived in ``objective.md``.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .._errors import SettingError, setting_error
from .._math import spectrum
from .._types import Float
from ..stimuli import AbstractStimulus, Task
from ._checks import checked_fields
from ._estimate import batches, draw
from ._float64 import in_float64
from ._gated_input import has_exact_input, mean_gated_input
from ._products import class_labels

Fields = Float[np.ndarray, "fields n"]
PerField = Float[np.ndarray, " fields"]
METHODS = ("exact", "sampled")


@dataclass(frozen=True, eq=False)
class Objective:
    """What fields are worth to a ReLU neuron, one number each, with standard errors that are 0 where it is exact.

    ``value``: J, of which ``loss`` = E y^2 - J^2/4 is the loss at the best height; below 0 where the labels speak
    against the field, which is then best at height 0. ``geary``: C = 2 E[y ReLU]/sqrt(2 E y^2 E[ReLU^2; y != 0]), on
    sign-symmetric classes of labels 0 and 1 the ratio E|S|/sd(S) of class 1. ``ratio``: r = E[ReLU^2; y = 0] over
    E[ReLU^2; y != 0], there u'S_0u/u'S_1u. ``height``: the factor on the field at which its loss is lowest.
    ``standard_error``: of ``value``; ``geary_error``, ``ratio_error``, ``loss_error``, ``height_error``: of the others.
    """

    value: np.ndarray
    standard_error: np.ndarray
    geary: np.ndarray
    geary_error: np.ndarray
    ratio: np.ndarray
    ratio_error: np.ndarray
    loss: np.ndarray
    loss_error: np.ndarray
    height: np.ndarray
    height_error: np.ndarray


@in_float64
def objective(
    task: Task,
    w: Any,
    *,
    method: str = "exact",
    samples: int = 200_000,
    seed: int = 0,
    tolerance: float = 1e-5,
) -> Objective:
    """J and all that it is made of, for fields of any height: J depends on their direction alone.

    **task**: classes with one label each, not all 0. **w**: one field (*pixels) or many (..., *pixels), none of zeros;
    every number of the result has the axes before the pixels. **method**:

    - "exact": by E ReLU<w,X> = <w, f(w)> with f of :func:`mean_gated_input` and its **tolerance** on long Ising rings;
      of a data set the mean over its samples. A sign-symmetric class of label 0 may be of any law, as its covariance is
      enough. Refused where there is no exact form.
    - "sampled": Monte Carlo with **samples** draws a class from **seed**; sign-symmetric classes bring their exact
      covariance, which takes most of the noise away.
    """
    shares, labels = _shares_and_labels(task, "objective")
    if method not in METHODS:
        raise setting_error("objective", "method", method, f"one of {', '.join(METHODS)}")
    array = checked_fields("objective", w, task.shape)
    flat = array.reshape(-1, math.prod(task.shape))
    if method == "exact":
        found = [_exact(s, flat, y, tolerance) for s, y in zip(task.stimuli, labels, strict=True)]
    else:
        drawn = enumerate(zip(task.stimuli, labels, strict=True))
        found = [_sampled(s, flat, y, samples, seed, stream) for stream, (s, y) in drawn]
    return _assembled(_Classes(shares, labels, found), array.shape[: array.ndim - len(task.shape)])


@in_float64
def gate_objective(task: Task, w: Any, *, tolerance: float = 1e-5) -> np.ndarray:
    """The J that the gate of a field guarantees: at least J of the field, at most that of the best field behind it.

    E ReLU is convex, so that least squares behind the gate of ``w`` bound the loss from above: J >= sqrt(8 g'M^-1 g)
    with g = sum_c p_c y_c f_c(w), M = sum_c p_c S_c. In closed form for the gate of one pixel on every copula.

    ``task``: sign-symmetric classes with one label >= 0 each, not all 0. ``w``: one field (*pixels) or many (...,
    *pixels), where :func:`mean_gated_input` knows f exactly, with its ``tolerance``.
    """
    shares, labels = checked_convex(task, "gate_objective")
    array = checked_fields("gate_objective", w, task.shape)
    flat = array.reshape(-1, math.prod(task.shape))
    drive = np.zeros(flat.shape)
    for stimulus, share, label in zip(task.stimuli, shares, labels, strict=True):
        if label:
            _refuse_inexact("gate_objective", stimulus, flat)
            drive += share * label * _gated(stimulus, flat, tolerance)[0]
    square = np.sum(drive * (drive @ inverse_power(task)), axis=1)
    return np.sqrt(8 * square).reshape(array.shape[: array.ndim - len(task.shape)])


def checked_convex(task: Task, asker: str) -> tuple[np.ndarray, np.ndarray]:
    """Shares and labels of a task whose drive sum_c p_c y_c E_c ReLU is convex and whose power is quadratic."""
    shares, labels = _shares_and_labels(task, asker)
    if labels.min() < 0:
        raise setting_error(asker, "task", f"labels {labels.tolist()}", "labels >= 0, which keep the drive convex")
    if not task.sign_symmetric:
        names = ", ".join(type(s).__name__ for s in task.stimuli if not s.sign_symmetric)
        raise setting_error(asker, "task", names, "sign-symmetric classes, whose E ReLU^2 is quadratic in w")
    return shares, labels


def inverse_power(task: Task) -> Float[np.ndarray, "n n"]:
    """The inverse of M = sum_c p_c S_c, or its pseudo-inverse where no class varies in some direction."""
    matrices = np.stack([s.covariance_matrix() for s in task.stimuli])
    return np.linalg.pinv(np.tensordot(np.asarray(task.proportions), matrices, 1), rcond=1e-10, hermitian=True)


def _shares_and_labels(task: Any, asker: str) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(task, Task):
        raise setting_error(asker, "task", task, "a Task")
    labels = np.asarray(class_labels(task, asker))
    if not labels.any():
        raise setting_error(asker, "task", f"labels {labels.tolist()}", "labels that are not all 0")
    return np.asarray(task.proportions), labels


# Two moments of a ReLU on one class -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Moments:
    """E ReLU and E ReLU^2 of one class, and the variances and covariance of the two where they are sampled."""

    mean: PerField
    square: PerField
    mean_noise: PerField
    square_noise: PerField
    joint_noise: PerField


def _moments(mean: Any, square: Any, mean_noise: Any = 0.0, square_noise: Any = 0.0, joint: Any = 0.0) -> _Moments:
    return _Moments(*(np.broadcast_to(a, np.shape(square)) for a in (mean, square, mean_noise, square_noise, joint)))


def _exact(stimulus: AbstractStimulus, w: Fields, label: float, tolerance: float) -> _Moments:
    if stimulus.sign_symmetric:
        return _of_symmetric(stimulus, w, label, tolerance)
    law = stimulus.support()
    if law is not None:
        return _of_states(law.states, law.probabilities, w)
    if stimulus.is_gaussian:
        return _of_gaussian(stimulus, w)
    raise _no_form("objective", stimulus)


def _of_symmetric(stimulus: AbstractStimulus, w: Fields, label: float, tolerance: float) -> _Moments:
    """Euler's identity E ReLU = <w, f(w)>, and half the variance."""
    half = _variance(stimulus, w) / 2
    if not label:
        return _moments(0.0, half)
    _refuse_inexact("objective", stimulus, w)
    gated, error = _gated(stimulus, w, tolerance)
    return _moments(np.sum(w * gated, axis=1), half, (np.abs(w).sum(1) * error) ** 2)


def _gated(stimulus: AbstractStimulus, w: Fields, tolerance: float) -> tuple[Fields, PerField]:
    found = mean_gated_input(stimulus, w.reshape(-1, *stimulus.shape), tolerance=tolerance)
    return found.value.reshape(w.shape), found.standard_error.reshape(w.shape).max(1)


def _refuse_inexact(asker: str, stimulus: AbstractStimulus, w: Fields) -> None:
    if not has_exact_input(stimulus, w):
        raise _no_form(asker, stimulus)


def _no_form(asker: str, stimulus: AbstractStimulus) -> SettingError:
    way = "; use method='sampled'" if asker == "objective" else "; a single pixel has one on every copula"
    return SettingError(f"{asker}: no exact form is known for {type(stimulus).__name__} at this w{way}")


def _of_states(states: Float[np.ndarray, "states n"], chances: Float[np.ndarray, " states"], w: Fields) -> _Moments:
    total = np.zeros((2, len(w)))
    for part in np.array_split(np.arange(len(states)), 1 + len(states) * len(w) // 2**22):
        rectified = np.maximum(states[part] @ w.T, 0)
        total += chances[part] @ rectified, chances[part] @ rectified**2
    return _moments(*total)


def _of_gaussian(stimulus: AbstractStimulus, w: Fields) -> _Moments:
    """With a mean m and a standard deviation s of S: m Phi + s phi and (m^2 + s^2) Phi + m s phi, at m/s."""
    spread, mean = np.sqrt(_variance(stimulus, w)), w @ stimulus.mean().ravel()
    t = mean / spread
    below, density = scipy.special.ndtr(t), np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
    square = (mean**2 + spread**2) * below + mean * spread * density
    return _moments(mean * below + spread * density, square)


def _variance(stimulus: AbstractStimulus, w: Fields) -> PerField:
    """w'Sw, by numpy: no program is compiled for one product."""
    if not stimulus.shift_invariant:
        return np.sum(w * (w @ stimulus.covariance_matrix()), axis=1)
    waves = np.fft.fftn(w.reshape(-1, *stimulus.shape), axes=range(1, 1 + len(stimulus.shape)))
    power = np.abs(waves) ** 2 * spectrum(stimulus.covariance())
    return power.reshape(len(w), -1).sum(1) / w.shape[1]


def _sampled(stimulus: AbstractStimulus, w: Fields, label: float, samples: int, seed: int, stream: int) -> _Moments:
    if stimulus.sign_symmetric and not label:
        return _moments(0.0, _variance(stimulus, w) / 2)
    powers = np.zeros((4, len(w)))
    for index, n in batches(samples, max(w.shape)):
        s = np.asarray(draw(stimulus, seed, stream, index, n)) @ w.T
        size = np.abs(s) if stimulus.sign_symmetric else np.maximum(s, 0)
        square = size**2
        powers += [a.sum(0) for a in (size, square, size * square, square**2)]
    powers /= samples
    if stimulus.sign_symmetric:
        return _with_known_variance(powers, _variance(stimulus, w), samples, _has_fourth_moment(stimulus))
    first, second, third, fourth = powers
    noises = second - first**2, fourth - second**2, third - first * second
    return _moments(first, second, *(noise / samples for noise in noises))


def _has_fourth_moment(stimulus: AbstractStimulus) -> bool:
    return bool(np.isfinite(stimulus.marginal.excess_kurtosis()))


def _with_known_variance(powers: Float[np.ndarray, "4 fields"], variance: PerField, n: int, fourth: bool) -> _Moments:
    """E|S|/2 by regression on S^2, whose mean is known: worth eight times as many samples on a Gaussian."""
    first, second, third, fourth_power = powers
    joint, spread = third - first * second, fourth_power - second**2
    varies = fourth & (spread > 1e-12 * second**2)
    slope = np.where(varies, joint / np.where(varies, spread, 1), 0)
    noise = np.maximum(second - first**2 - slope * joint, 0) / n
    return _moments((first - slope * (second - variance)) / 2, variance / 2, noise / 4)


# From moments to the objective ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Classes:
    """The moments of all classes, with their shares and labels."""

    shares: Float[np.ndarray, " classes"]
    labels: Float[np.ndarray, " classes"]
    moments: list[_Moments]

    def drive(self) -> PerField:
        """B = E[y ReLU]."""
        weights = self.shares * self.labels
        return np.sum([weight * m.mean for weight, m in zip(weights, self.moments, strict=True)], axis=0)

    def power(self, labelled: bool) -> PerField:
        """E[ReLU^2] over the classes whose label is not 0, or over the others."""
        weights = self.shares * ((self.labels != 0) == labelled)
        return np.sum([weight * m.square for weight, m in zip(weights, self.moments, strict=True)], axis=0)

    def error(self, by_drive: Any, by_others: Any, by_labelled: Any) -> PerField:
        """Of a number with these derivatives by the drive and by the two powers, to first order."""
        total = np.zeros(np.shape(self.moments[0].square))
        for share, label, m in zip(self.shares, self.labels, self.moments, strict=True):
            a, b = share * label * by_drive, share * (by_labelled if label else by_others)
            total = total + a**2 * m.mean_noise + 2 * a * b * m.joint_noise + b**2 * m.square_noise
        return np.sqrt(np.maximum(total, 0))


def _assembled(classes: _Classes, lead: tuple[int, ...]) -> Objective:
    drive, others, labelled = classes.drive(), classes.power(labelled=False), classes.power(labelled=True)
    label_power = float(np.sum(classes.shares * classes.labels**2))
    with np.errstate(divide="ignore", invalid="ignore"):  # where no class varies there is no direction: NaN
        power, rise, scale = others + labelled, np.maximum(drive, 0), np.sqrt(2 / label_power)
        found = {
            "value": (2 * drive / np.sqrt(power), 2 / np.sqrt(power), *[-drive * power**-1.5] * 2),
            "geary": (scale * drive / np.sqrt(labelled), scale / np.sqrt(labelled), 0.0,
                      -scale * drive / 2 * labelled**-1.5),
            "ratio": (others / labelled, 0.0, 1 / labelled, -others / labelled**2),
            "loss": (label_power - rise**2 / power, -2 * rise / power, *[(rise / power) ** 2] * 2),
            "height": (rise / power, (drive > 0) / power, *[-rise / power**2] * 2),
        }  # fmt: skip
        errors = {name: classes.error(*slopes) for name, (_, *slopes) in found.items()}
    values = {name: value for name, (value, *_) in found.items()}
    named = {"standard_error" if name == "value" else f"{name}_error": error for name, error in errors.items()}
    return Objective(**{name: np.asarray(array).reshape(lead) for name, array in {**values, **named}.items()})
