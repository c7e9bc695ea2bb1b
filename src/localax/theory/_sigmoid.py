"""Sigmoid units: what sets the sign of a bias, why there are two populations, and what they compute.

Without biases an erf network cannot beat yhat = 0 on sign-symmetric data, since E[s'(h) X] = 0. With them the first
thing that moves is the bias, and its direction is set by the initial weights alone: down where the long-lengthscale
class drives the unit harder, up where the short one does. That is the split into localized (negative bias) and
oscillatory (positive bias) units of section 3 of seed 000 and section 2 of seed 002.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._settings import finite_array, wrong
from .._trajectory import Trajectory
from .._types import Array, Float
from ..analysis import dominant_frequency
from ..networks import SoftCommittee
from ..stimuli import Task
from ._erf import GaussianErf
from ._exact import checked_units
from ._joint import class_labels, products
from ._x64 import require_x64

Units = Float[Array, " units"]


# Bias flow -----------------------------------------------------------------------------------------------------------


def bias_flow(task: Task, weights: Any, biases: Any) -> Float[np.ndarray, " units"]:
    """db/dt of erf(h/sqrt 2) units on Gaussian classes, in training time (loss without 1/2).

    One unit: Eqs. 37 to 43 of seed 000, which hold for erf(h); many: its unnumbered flow, with the mean and the factors
    that are missing there. ``weights``: (unit, \\*pixels).
    """
    flow, w, b = _prepared(task, weights, biases)
    return np.asarray(flow.velocity(w, b)[1])


def bias_response(task: Task, weights: Any) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, "units units"]]:
    """The bias flow around initialisation, db/dt = v + M b for small b: the push v and the matrix M."""
    flow, w, b = _prepared(task, weights, None)
    push, slope = flow.velocity(w, b)[1], jax.jacobian(lambda b: flow.velocity(w, b)[1])(b)
    return np.asarray(push), np.asarray(slope)


def initial_push(task: Task, weights: Any) -> Float[np.ndarray, " units"]:
    """db/dt at b = 0: (2/K) sqrt(2/pi) sum_c p_c y_c (1 + w'S_c w)^(-1/2).

    For labels -1 and 1 it is negative exactly where w'S1w > w'S0w.
    """
    require_x64()
    labels = class_labels(task, "initial_push")
    w = jnp.asarray(_fields(task, weights))
    power = jnp.einsum("cup,up->cu", products(task.stimuli)(w), w)
    terms = jnp.asarray(task.proportions)[:, None] * labels[:, None] / jnp.sqrt(1 + power)
    return np.asarray(2 / len(w) * jnp.sqrt(2 / jnp.pi) * terms.sum(0))


def _fields(task: Task, weights: Any) -> Float[np.ndarray, "units n"]:
    array = finite_array("bias flow", "weights", np.asarray(weights), "finite numbers, (unit, *pixels)").astype(float)
    units = array.shape[0] if array.ndim == len(task.shape) + 1 else 1
    return checked_units("bias flow", array, task.shape, units).reshape(units, -1)


def _prepared(task: Task, weights: Any, biases: Any) -> tuple[GaussianErf, Array, Units]:
    require_x64()
    w = jnp.asarray(_fields(task, weights))
    flow = GaussianErf.build(task, SoftCommittee(len(w), "erf", bias=True), 1.0)
    if flow is None:
        names = ", ".join(type(s).__name__ for s in task.stimuli)
        raise wrong("bias flow", "task", names, "a task of Gaussian classes")
    b = np.zeros(len(w)) if biases is None else finite_array("bias flow", "biases", biases, "one number per unit")
    if np.shape(b) != (len(w),):
        raise wrong("bias flow", "biases", f"shape {np.shape(b)}", f"one number for each of {len(w)} units")
    return flow, w, jnp.asarray(b, jnp.float64)


# Frequency specialisation --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Specialisation:
    """Two populations told apart by the sign of their final bias: how many units, the median over units of their
    dominant frequency (cycles round the ring), and the share of units whose sign the start foretold."""

    negative: int
    positive: int
    negative_frequency: float
    positive_frequency: float
    foretold: float


def frequency_specialisation(task: Task, trajectory: Trajectory) -> Specialisation:
    """The populations at the end of a run, all seeds together, and how well :func:`initial_push` foretold them."""
    if trajectory.biases is None:
        raise wrong("frequency_specialisation", "trajectory", trajectory, "a run with trained biases")
    final = np.asarray(trajectory.biases)[:, -1].ravel()
    start = np.concatenate([initial_push(task, seed) for seed in trajectory.weights[:, 0]])
    ndim = trajectory.pixel_ndim
    fields = jnp.asarray(trajectory.final.reshape(-1, *trajectory.pixels))
    modes = np.asarray(dominant_frequency(fields, ndim=ndim), float)
    modes = np.linalg.norm(modes, axis=-1) if modes.ndim > 1 else modes
    low, high = final < 0, final > 0
    slow, fast = (float(np.median(modes[group])) if group.any() else float("nan") for group in (low, high))
    return Specialisation(int(low.sum()), int(high.sum()), slow, fast, float(np.mean(np.sign(start) == np.sign(final))))


# The reduced convolutional model -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """A field that tiles the ring with both signs, and the bias its units share."""

    field: Float[np.ndarray, "*pixels"]
    bias: float


def population_output(x: Any, negative: Any, positive: Any) -> Float[np.ndarray, " n"]:
    """Eq. 3 of seed 002: the mean over two populations of erf units, each (fields (unit, \\*pixels), one bias)."""
    samples = np.asarray(x, float)
    flat = samples.reshape(len(samples), -1)
    parts = [_erf(flat @ np.asarray(w, float).reshape(len(w), -1).T + b) for w, b in (negative, positive)]
    return np.concatenate(parts, axis=1).mean(axis=1)


def convolutional_output(x: Any, populations: Any, *, folded: bool = False) -> Float[np.ndarray, " n"]:
    """The limit of many units that tile the ring: Eq. 4 of seed 002, or with ``folded`` its short form.

    A place with response c contributes [s(c + b) + s(-c + b)]/2, averaged over places and populations. Where |c| is
    large one of the two is saturated: for b < 0 the second, at -1, which leaves [s(|c| + b) - 1]/2; for b > 0 the
    first, at 1, which leaves [1 - s(|c| - b)]/2. Eq. 5 of seed 002 drops the saturated term (right for a logistic unit
    at b < 0) and writes s(|c| + b) for both populations, although at b > 0 the other term carries the signal.
    """
    samples = np.asarray(x, float)
    parts = []
    for one in populations:
        local = _local(samples, np.asarray(one.field, float))
        if folded:
            parts.append(np.sign(one.bias) * (1 - _erf(np.abs(local) - abs(one.bias))) / 2)
        else:
            parts.append((_erf(local + one.bias) + _erf(-local + one.bias)) / 2)
    axes = tuple(range(1, samples.ndim))
    return np.mean([part.mean(axis=axes) for part in parts], axis=0)


def _local(x: Float[np.ndarray, "n *pixels"], field: Float[np.ndarray, "*pixels"]) -> Float[np.ndarray, "n *pixels"]:
    axes = tuple(range(1, x.ndim))
    waves = np.fft.rfftn(x, axes=axes) * np.conj(np.fft.rfftn(field))
    return np.fft.irfftn(waves, s=x.shape[1:], axes=axes)


def _erf(h: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return special.erf(h / np.sqrt(2))
