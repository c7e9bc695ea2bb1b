"""When does the flat field give way under the true flow? Its Jacobian there, without the assumptions of Eq. 5.

At w = c 1 the derivative of f_c is p_S(0) E[X X' | S = 0]/c with S the sum of the pixels: a circulant matrix, so that
wave k grows at

    sum_c p_c [2 y_c p_Sc(0) E(|X_k|^2 | S_c = 0)/(c N) - l_ck],   c = sum_c p_c y_c E|S_c|/(N sum_c p_c l_c0).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._math import spectrum
from ...spec import Number, checked_count, finite_array
from ...stimuli import AbstractStimulus, Task
from .._checks import flat_damping, symmetric_task, unbalanced
from .._estimate import Estimate, batches, draw
from .._float64 import in_float64
from .._gated_input import has_exact_input, mean_gated_input
from .._pixel_law import root
from ._latent_mean import Averages, Plan, latent_quotient
from ._zero_sum import is_smooth_copula, zero_sum

CLOSE = 2e-3
"""Relative width at which the search for a threshold ends."""


@in_float64
def exact_growth_rates(task: Task, *, samples: int = 2**16, seed: int = 0) -> Estimate:
    """Growth rate of every Fourier mode at the flat fixed point of the true flow; entry 0 is the flat mode.

    ``task``: sign-symmetric classes on a ring or torus with one label each, positive on the whole. Shaped and ordered
    like :func:`flat_growth_rates`, which does the same for the effective flow. ``samples`` and ``seed`` serve where a
    law has no closed form:

    - Gaussian and elliptical laws: exact.
    - Copulas (NLGP, Kur): given the latent field without its mean, with control variates; at lengthscales (1, 3) and
      40 pixels the standard error is about 2e-5 at gain 0.2 and 8e-5 at k = 5.7.
    - Pixels +-s: f jumps, and there is no derivative. P(S = 0)/(2s) stands for the density, exactly on Ising rings: the
      rate of waves that are neither too small nor too large; ``steady.growth_quotient`` says what waves of a given size
      do. On an odd number of pixels S is never 0, and small waves only decay.
    - Other laws: samples weighted by a window of order 6 around S = 0, of width sd(S) n^(-1/13). The standard error
      includes the bias that it would have on a Gaussian sum, 0.31 width^6.

    Steep maps such as NLGP's at gain 100 are nearly +-1: the density of S has a peak at 0 so narrow and high that the
    rate means nothing for waves of any size. Where single samples dominate the mean, the standard error is NaN.
    """
    shares, labels = symmetric_task("exact_growth_rates", task)
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    damping = flat_damping("exact_growth_rates", shares, modes)
    drive = [(w, zero_sum(s, Plan(samples, seed, c))) for c, (w, s) in enumerate(_labelled(task)) if w]
    total = sum(weight * one.size for weight, one in drive)
    if not total > 0:
        raise unbalanced("exact_growth_rates", labels)
    power = sum(weight * one.power for weight, one in drive)
    rates = 2 * damping * power / total - np.tensordot(shares, modes, 1)
    # By the delta method: rate = 2 damping sum_c a_c A_c/sum_c a_c B_c, classes independent.
    ratio = power / total
    variance = sum(
        w**2 * (one.power_variance + ratio**2 * one.size_variance - 2 * ratio * one.covariance) for w, one in drive
    )
    error = 2 * damping / total * np.sqrt(np.maximum(variance, 0))
    rates.flat[0], error.flat[0] = -damping, 0.0
    return Estimate(rates, error)


@in_float64
def exact_flat_height(task: Task, *, samples: int = 2**16, seed: int = 0) -> Estimate:
    """The weight of every pixel at the flat fixed point of the true flow.

    ``task``, ``samples`` and ``seed``: as in :func:`exact_growth_rates`.
    """
    shares, labels = symmetric_task("exact_flat_height", task)
    flat = np.array([np.sum(s.covariance()) for s in task.stimuli])
    drawn = [(w, zero_sum(s, Plan(samples, seed, c))) for c, (w, s) in enumerate(_labelled(task)) if w]
    total = sum(weight * one.size for weight, one in drawn)
    if not total > 0:
        raise unbalanced("exact_flat_height", labels)
    scale = math.prod(task.shape) * float(shares @ flat)
    error = math.sqrt(sum(weight**2 * one.size_variance for weight, one in drawn))
    return Estimate(np.array(total / scale), np.array(error / scale))


def _labelled(task: Task) -> list[tuple[float, AbstractStimulus]]:
    """Share times label of every class, and its law."""
    weights = np.asarray(task.proportions) * np.asarray(task.labels, float)
    return list(zip(weights.tolist(), task.stimuli, strict=True))


# Waves of some size ---------------------------------------------------------------------------------------------------


@in_float64
def growth_quotient(
    task: Task, eps: Any, mode: int | tuple[int, int] = 1, *, samples: int = 2**16, seed: int = 0
) -> Estimate:
    """How fast a wave of a given size grows under the true flow on a flat field that has found its height under it.

    With F the flow and v a cosine of frequency ``mode``, (row, column) on a torus: <v, F(w)>/<v, w> at
    w = c (1 + eps v) with c such that <1, F(w)> = 0, the mean over the cosine and the sine. ``eps``: sizes of the wave
    in units of the height, between -1 and 1 and not 0; one number or an array, whose shape the result has. As eps goes
    to 0 this is the entry of :func:`exact_growth_rates`, where that exists: not on pixels +-s, whose f jumps. Exact (by
    transfer matrices, with their error) on Ising rings, for laws of few states and elliptical ones, given the latent
    field for copulas, else from ``samples`` drawn with ``seed``. ``task``: as there.
    """
    shares, labels = symmetric_task("growth_quotient", task)
    sizes = finite_array("growth_quotient", "eps", eps, "finite numbers").astype(float)
    if sizes.size == 0 or np.any(sizes == 0) or np.any(np.abs(sizes) >= 1):
        raise setting_error("growth_quotient", "eps", eps, "numbers between -1 and 1, not 0")
    waves, flat = _waves(task.shape, mode), np.ravel(sizes)
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    found = [(w, _moved(s, flat, waves, Plan(samples, seed, c))) for c, (w, s) in enumerate(_labelled(task)) if w]
    mean = sum((weight * one.mean for weight, one in found), np.zeros(2 * flat.size))
    power, total = np.split(mean, 2)
    if not np.all(total > 0):
        raise unbalanced("growth_quotient", labels)
    ratio, half = power / total, flat.size
    variance = sum(
        w**2 * (one.variance[:half] + ratio**2 * one.variance[half:] - 2 * ratio * one.covariance[:half])
        for w, one in found
    )
    scale = 2 * float(shares @ modes.reshape(len(modes), -1)[:, 0])
    value = scale * ratio - np.tensordot(shares, modes, 1)[mode]
    error = scale / total * np.sqrt(np.maximum(variance, 0))
    return Estimate(value.reshape(sizes.shape), error.reshape(sizes.shape))


def _waves(shape: tuple[int, ...], mode: Any) -> np.ndarray:
    """The cosine and the sine, (wave, *pixels); one of them where the other is 0 everywhere."""
    numbers = np.atleast_1d(np.asarray(mode))
    whole = numbers.dtype.kind in "iu" and numbers.shape == (len(shape),)
    if not whole or np.any(np.abs(numbers) >= shape) or not np.any(numbers):
        raise setting_error("growth_quotient", "mode", mode, f"frequencies of a wave on {shape} pixels, not all 0")
    phase = 2 * np.pi * sum(k * i / side for k, i, side in zip(numbers, np.indices(shape), shape, strict=True))
    both = np.stack([np.cos(phase), np.sin(phase)])
    return both[np.abs(both).reshape(2, -1).max(1) > 1e-9]


def _moved(stimulus: AbstractStimulus, sizes: np.ndarray, waves: np.ndarray, plan: Plan) -> Averages:
    """N <v, f(1 + eps v)>/(eps |v|^2) for every size, and behind them 2 <1, f(1 + eps v)>, means over the waves."""
    fields = 1 + np.multiply.outer(sizes, waves)
    single, factor = stimulus.multiple_of()
    if has_exact_input(stimulus, fields.reshape(sizes.size * len(waves), -1)):
        return _moved_exactly(stimulus, sizes, waves, fields)
    if is_smooth_copula(single):
        mean, variance, covariance = latent_quotient(single, sizes, waves, plan)  # pyright: ignore[reportArgumentType]
        return Averages(abs(factor) * mean, factor**2 * variance, factor**2 * covariance)
    return _moved_samples(stimulus, sizes, waves, plan)


def _moved_exactly(stimulus: AbstractStimulus, sizes: np.ndarray, waves: np.ndarray, fields: np.ndarray) -> Averages:
    f = mean_gated_input(stimulus, fields, tolerance=1e-7)
    pixels = tuple(range(2, fields.ndim))
    norm = np.mean(waves**2, axis=tuple(range(1, waves.ndim)))
    along = np.mean(np.sum(f.value * waves, axis=pixels) / norm, axis=1) / sizes
    wrong = np.max(f.standard_error, axis=(1, *pixels)) * math.prod(stimulus.shape) / np.abs(sizes)
    flat = 2 * np.mean(np.sum(f.value, axis=pixels), axis=1)
    zero = np.zeros_like(flat)
    return Averages(np.append(along, flat), np.append(wrong**2, zero), np.append(zero, zero))


def _moved_samples(stimulus: AbstractStimulus, sizes: np.ndarray, waves: np.ndarray, plan: Plan) -> Averages:
    total, square, cross = (np.zeros(2 * sizes.size) for _ in range(3))
    flat = waves.reshape(len(waves), -1).T
    norm = np.mean(flat**2, axis=0)
    for index, n in batches(checked_count("growth_quotient", plan.samples, 2), flat.shape[0]):
        x = np.asarray(draw(stimulus, plan.seed, plan.stream, index, n))
        s, along = x.sum(1)[:, None], x @ flat
        rows = []
        for eps in sizes:
            sign = np.sign(s + eps * along)
            # By sign symmetry 1(u > 0) may be sign(u)/2, and what a flat field sees of a wave has mean 0.
            rows.append((np.mean((sign - np.sign(s)) * along / norm, 1) / (2 * eps), np.mean(sign * s, 1)))
        terms = np.stack([*(a for a, _ in rows), *(b for _, b in rows)])
        beside = np.tile(terms[sizes.size :], (2, 1))
        total, square, cross = total + terms.sum(1), square + (terms**2).sum(1), cross + (terms * beside).sum(1)
    mean, count = total / plan.samples, plan.samples
    behind = np.tile(mean[sizes.size :], 2)
    return Averages(mean, (square / count - mean**2) / count, (cross / count - mean * behind) / count)


# Thresholds -----------------------------------------------------------------------------------------------------------


@in_float64
def exact_critical_value(
    tasks: Callable[[float], Task], low: Number, high: Number, *, samples: int = 2**16, seed: int = 0
) -> Estimate:
    """The setting between ``low`` and ``high`` at which the true flow's flat field changes its stability.

    ``tasks(setting)`` makes the task; ``samples`` and ``seed`` as in :func:`exact_growth_rates`. All settings share
    their random numbers, so that rates are smooth in the setting; the standard error is that of the fastest rate over
    the slope, with the 0.2% at which the search ends.
    """

    def fastest(value: Number) -> tuple[float, float]:
        rates = exact_growth_rates(tasks(value), samples=samples, seed=seed)
        # Of waves that are known badly, none may seem the fastest by chance.
        best = 1 + int(np.argmax((rates.value - 3 * rates.standard_error).ravel()[1:]))
        return float(rates.value.flat[best]), float(rates.standard_error.flat[best])

    seen = {float(value): fastest(value) for value in (low, high)}
    if seen[float(low)][0] * seen[float(high)][0] > 0:
        found = "unstable" if seen[float(low)][0] > 0 else "stable"
        expected = f"settings of which only one leaves the flat field stable (it is {found} at both)"
        raise setting_error("exact_critical_value", "low, high", (low, high), expected)

    def rate(value: float) -> float:
        if value not in seen:
            seen[value] = fastest(value)
        return seen[value][0]

    found = root(rate, low, high, width=CLOSE * abs(float(high)) / 4)
    near, next_to_it = sorted(seen, key=lambda value: abs(value - found))[:2]
    slope = (seen[near][0] - seen[next_to_it][0]) / (near - next_to_it)
    error = np.hypot(seen[near][1] / slope, CLOSE * found / 4)
    return Estimate(np.array(found), np.array(error))
