"""Sigmoid units: what sets the sign of a bias, why there are two populations, and what they compute.

Without biases an erf network cannot beat yhat = 0 on sign-symmetric data, since E[s'(h) X] = 0. With them the first
thing that moves is the bias, and its direction is set by the initial weights alone: down where the long-lengthscale
class drives the unit harder, up where the short one does. That is the split into localized (negative bias) and
oscillatory (positive bias) units of section 3 of the network notes and section 2 of the behaviour notes.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ..._errors import setting_error
from ..._math import circular_correlate
from ..._types import Array, Float
from ...analysis import dominant_frequency
from ...networks import SoftCommittee
from ...spec import finite_array
from ...stimuli import Task
from ...trajectory import Trajectory
from .._checks import checked_units
from .._float64 import in_float64
from .._products import class_labels, products
from ..flows import GaussianErf

Units = Float[Array, " units"]


# Bias flow -----------------------------------------------------------------------------------------------------------


@in_float64
def bias_flow(task: Task, weights: Any, biases: Any) -> Float[np.ndarray, " units"]:
    """db/dt of erf(h/sqrt 2) units on Gaussian classes, in training time (loss without 1/2).

    One unit: Eqs. 37 to 43 of the network notes, which hold for erf(h); many: its unnumbered flow, with the mean and
    the factors that are missing there. ``task``: centred Gaussian classes with one label each. ``weights``: (unit,
    *pixels). ``biases``: one per unit; None for 0.
    """
    flow, w, b = _prepared(task, weights, biases)
    return np.asarray(flow.velocity(w, b)[1])


@in_float64
def bias_response(task: Task, weights: Any) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, "units units"]]:
    """The bias flow around initialisation, db/dt = v + M b for small b: the push v and the matrix M.

    ``task`` and ``weights`` are as in :func:`bias_flow`.
    """
    flow, w, b = _prepared(task, weights, None)
    push, slope = flow.velocity(w, b)[1], jax.jacobian(lambda b: flow.velocity(w, b)[1])(b)
    return np.asarray(push), np.asarray(slope)


@in_float64
def initial_push(task: Task, weights: Any) -> Float[np.ndarray, " units"]:
    """db/dt at b = 0: (2/K) sqrt(2/pi) sum_c p_c y_c (1 + w'S_c w)^(-1/2).

    For labels -1 and 1 it is negative exactly where w'S1w > w'S0w. ``task``: Gaussian classes with one label each; of
    others their covariances are taken. ``weights``: (unit, *pixels), K units.
    """
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
    w = jnp.asarray(_fields(task, weights))
    flow = GaussianErf.build(task, SoftCommittee(len(w), "erf", bias=True), 1.0)
    if flow is None:
        names = ", ".join(type(s).__name__ for s in task.stimuli)
        raise setting_error("bias flow", "task", names, "a task of Gaussian classes")
    b = np.zeros(len(w)) if biases is None else finite_array("bias flow", "biases", biases, "one number per unit")
    if np.shape(b) != (len(w),):
        raise setting_error("bias flow", "biases", f"shape {np.shape(b)}", f"one number for each of {len(w)} units")
    return flow, w, jnp.asarray(b, jnp.float64)


# Frequency specialisation --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Specialisation:
    """Two populations told apart by the sign of their final bias.

    ``negative`` and ``positive``: how many units. ``negative_frequency`` and ``positive_frequency``: the median over
    these units of their dominant frequency (cycles round the ring), NaN where there are none. ``foretold``: the share
    of all units whose sign the start foretold.
    """

    negative: int
    positive: int
    negative_frequency: float
    positive_frequency: float
    foretold: float


@in_float64
def frequency_specialisation(task: Task, trajectory: Trajectory) -> Specialisation:
    """The populations at the end of a run, all seeds together, and how well :func:`initial_push` foretold them.

    ``trajectory``: a run on ``task`` with trained biases, whose first record is the start.
    """
    if trajectory.biases is None:
        raise setting_error("frequency_specialisation", "trajectory", trajectory, "a run with trained biases")
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
    """A ``field`` (*pixels) that tiles the ring with both signs, and the ``bias`` its units share."""

    field: Float[np.ndarray, "*pixels"]
    bias: float


def population_output(x: Any, negative: Any, positive: Any) -> Float[np.ndarray, " n"]:
    """Eq. 3 of the behaviour notes: the mean over two populations of erf units, one number per sample.

    ``x``: samples (sample, *pixels). ``negative`` and ``positive``: the populations of either sign of bias, each a
    pair of fields (unit, *pixels) and their bias, one number or one per unit.
    """
    samples = np.asarray(x, float)
    flat = samples.reshape(len(samples), -1)
    parts = [_erf(flat @ np.asarray(w, float).reshape(len(w), -1).T + b) for w, b in (negative, positive)]
    return np.concatenate(parts, axis=1).mean(axis=1)


def convolutional_output(x: Any, populations: Any, *, folded: bool = False) -> Float[np.ndarray, " n"]:
    """The limit of many units that tile the ring: Eq. 4 of the behaviour notes, or with ``folded`` its short form.

    ``x``: samples (sample, *pixels). ``populations``: a list of :class:`Population`. A place with response c
    contributes [s(c + b) + s(-c + b)]/2, averaged over places and populations. Where c is large in magnitude one of the
    two is saturated: for b < 0 the second, at -1, which leaves ``[s(|c| + b) - 1]/2``; for b > 0 the first, at 1, which
    leaves ``[1 - s(|c| - b)]/2``. Eq. 5 of the behaviour notes drops the saturated term (right for a logistic unit at
    b < 0) and writes ``s(|c| + b)`` for both populations, although at b > 0 the other term carries the signal.
    """
    samples = np.asarray(x, float)
    parts = []
    for one in populations:
        local = np.asarray(circular_correlate(samples, np.asarray(one.field, float), samples.ndim - 1))
        if folded:
            parts.append(np.sign(one.bias) * (1 - _erf(np.abs(local) - abs(one.bias))) / 2)
        else:
            parts.append((_erf(local + one.bias) + _erf(-local + one.bias)) / 2)
    axes = tuple(range(1, samples.ndim))
    return np.mean([part.mean(axis=axes) for part in parts], axis=0)


def _erf(h: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return scipy.special.erf(h / np.sqrt(2))
