"""Where the exact flow of one ReLU neuron can end: localized fields on hypercube data, waves on elliptical data."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._math import spectrum
from ...analysis import ipr
from ...spec import Number
from ...stimuli import Task
from .._float64 import in_float64


@dataclass(frozen=True, eq=False)
class LocalizedAttractor:
    """The localized steady state on hypercube data (C5).

    ``field``: w*, (*pixels). ``ipr``: its inverse participation ratio, 1 for a single pixel. ``dominates``: whether
    the field is a fixed point at all, which it is if its peak outweighs all its other weights together, by ``margin``.
    ``rate``: how fast perturbations decay, at least. ``loss``: E(prediction - label)^2.
    """

    field: np.ndarray
    dominates: bool
    margin: float
    rate: float
    loss: float
    ipr: float


@in_float64
def localized_attractor(task: Task, pixel: int | tuple[int, int] = 0) -> LocalizedAttractor:
    """The exact localized steady state where the pixels of every labelled class are +-s: no approximation of phi.

    Where one weight outweighs all others, the neuron's gate is that pixel's sign, f_c = S_c e_i/(2 s_c) is constant
    and the flow linear: w* = (sum p_c S_c)^-1 sum p_c y_c S_c e_i/s_c, for two classes (S0+S1)^-1 S1 e_i. Directions in
    which no class varies stay where they start: then ``field`` is the one without them, and ``rate`` is 0.

    ``task``: sign-symmetric classes with one label each. ``pixel``: the place i of the peak, counted row by row or as
    (row, column).
    """
    _check_hypercube(task)
    shares, labels = np.asarray(task.proportions), np.asarray(task.labels, float)
    place = np.zeros(task.shape)
    place[np.unravel_index(pixel, task.shape) if isinstance(pixel, int) else pixel] = 1
    matrices = np.stack([s.covariance_matrix() for s in task.stimuli])
    spreads = np.array([math.sqrt(s.marginal.variance()) for s in task.stimuli])
    total = np.tensordot(shares, matrices, 1)
    drive = np.tensordot(shares * labels / spreads, matrices @ place.ravel(), 1)
    w = np.linalg.lstsq(total, drive, rcond=1e-10)[0]
    at = int(place.argmax())
    margin = float(w[at] - (np.sum(np.abs(w)) - np.abs(w[at])))
    return LocalizedAttractor(
        field=w.reshape(task.shape),
        dominates=margin > 0,
        margin=margin,
        rate=max(float(np.linalg.eigvalsh(total)[0]), 0.0),
        loss=float(np.sum(shares * labels**2) - drive @ w / 2),
        ipr=float(ipr(w)),
    )


def _check_hypercube(task: Any) -> None:
    expected = "sign-symmetric, with pixels of one magnitude in every class whose label is not 0, such as Ising"
    if not isinstance(task, Task) or task.labels is None:
        raise setting_error("localized_attractor", "task", task, "a Task with one label per class")
    for stimulus, label in zip(task.stimuli, np.asarray(task.labels), strict=True):
        atoms = stimulus.marginal.atoms()
        two_valued = atoms is not None and np.ptp(np.abs(atoms[0])) == 0
        if not stimulus.sign_symmetric or (label != 0 and not two_valued):
            raise setting_error("localized_attractor", "task", type(stimulus).__name__, expected)


def ising_attractor(j0: Number, j1: Number, distances: Any) -> np.ndarray:
    """w* of two Ising classes on an infinite ring, at ``distances`` from the peak in pixels, of any shape (C5).

    ``j0`` and ``j1`` are the couplings of the classes of label 0 and 1, in equal shares. A peak with an exponential
    skirt of ratio tanh((J0+J1)/2); the field on N pixels differs by about its N-th power.
    """
    mean, gap = (j0 + j1) / 2, j1 - j0
    skirt = math.tanh(gap) / (2 * math.sinh(2 * mean)) * math.tanh(mean) ** np.abs(np.asarray(distances, float))
    peak = math.cosh((3 * j0 - j1) / 2) / (2 * math.cosh(mean) * math.cosh(gap))
    return np.where(np.asarray(distances) == 0, peak, skirt)


# Elliptical classes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ModeFixedPoints:
    """Every wave that is a fixed point of the exact flow on Gaussian or elliptical classes, one entry per frequency.

    ``frequency`` (mode, axis); ``multiplicity``: 1 for the constant and the Nyquist wave, 2 for a cosine and its
    sine; ``amplitude``: the norm of w, 0 where there is no such wave; ``loss``; ``growth`` (at, of): the rate at
    which mode ``of`` grows at the wave ``at``; ``unstable``: how many directions grow; ``ratio``: r_k =
    lambda_k(S0)/lambda_k(S1), where there are two classes.
    """

    frequency: np.ndarray
    multiplicity: np.ndarray
    amplitude: np.ndarray
    loss: np.ndarray
    growth: np.ndarray
    unstable: np.ndarray
    ratio: np.ndarray | None


@in_float64
def mode_fixed_points(task: Task) -> ModeFixedPoints:
    """All pure waves that the exact flow on Gaussian or elliptical classes can rest on, with their stability (C3).

    There f_c = (C_c/2) S_c w/sqrt(w S_c w) (Prop. 3.3, with the C/2 of B-06), so mode k rests at amplitude
    u = sum p y C sqrt(l_k)/sum p l_k, and mode j grows there at sum p_c l_cj (y_c C_c/(u sqrt(l_ck)) - 1). With one
    labelled class there are no other fixed points unless two modes share r_k (B-09: the paper leaves stability out).
    ``task``: such classes on a ring or torus, with one label each.
    """
    eigenvalues, frequency, multiplicity = _modes(task)
    shares, labels = np.asarray(task.proportions), np.asarray(task.labels, float)
    drive = shares * labels * np.array(_constants(task))
    root = np.sqrt(eigenvalues)
    top, bottom = drive @ root, shares @ eigenvalues
    exists = (top > 0) & (bottom > 1e-12 * bottom.max())
    amplitude = np.where(exists, top / np.where(exists, bottom, 1), 0)
    growth = _growth(drive, shares, eigenvalues, np.where(exists, amplitude, np.nan))
    unstable = np.where(exists, (growth > 1e-12) @ multiplicity, -1)
    loss = np.sum(shares * labels**2) - np.where(exists, top * amplitude, 0) / 2
    return ModeFixedPoints(frequency, multiplicity, amplitude, loss, growth, unstable, _ratio(eigenvalues))


def _constants(task: Task) -> list[float]:
    """C of every class (B-06)."""
    found = [s.elliptical_constant() for s in task.stimuli]
    for constant, stimulus in zip(found, task.stimuli, strict=True):
        if constant is None:
            raise setting_error(
                "mode_fixed_points", "task", type(stimulus).__name__, "of Gaussian or elliptical classes"
            )
    return [constant for constant in found if constant is not None]


def _growth(drive: np.ndarray, shares: np.ndarray, eigenvalues: np.ndarray, amplitude: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = drive[:, None] / (amplitude * np.sqrt(eigenvalues))
        growth = gain.T @ eigenvalues - shares @ eigenvalues
    np.fill_diagonal(growth, -(shares @ eigenvalues))
    return growth


def _ratio(eigenvalues: np.ndarray) -> np.ndarray | None:
    if len(eigenvalues) != 2:
        return None
    short, long = eigenvalues
    return np.where(long > 1e-12 * long.max(), short / np.where(long > 0, long, 1), np.inf)


def _modes(task: Task) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (class, mode), frequencies (mode, axis) and multiplicities, a wave and its mirror image as one."""
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant:
        raise setting_error("mode_fixed_points", "task", task, "a Task on a ring or torus with one label per class")
    index, sides = np.indices(task.shape).reshape(len(task.shape), -1), np.array(task.shape)[:, None]
    mirror = np.ravel_multi_index(tuple(-index % sides), task.shape)
    own = np.arange(mirror.size)
    first = own <= mirror
    eigenvalues = np.stack([np.maximum(spectrum(s.covariance()), 0).ravel()[first] for s in task.stimuli])
    signed = np.where(index > sides // 2, index - sides, index)
    return eigenvalues, signed[:, first].T, np.where(own == mirror, 1, 2)[first]


@in_float64
def winning_mode(task: Task) -> int | tuple[int, ...]:
    """The frequency on which the exact flow on Gaussian or elliptical classes settles: argmin r_k for labels 0, 1.

    The one wave at which nothing grows; (row, column) frequencies on a torus. ``task``: as in
    :func:`mode_fixed_points`, with a positive label.
    """
    points = mode_fixed_points(task)
    stable = np.flatnonzero(points.unstable == 0)
    if not stable.size:
        raise setting_error("winning_mode", "task", "no stable wave", "a task with a positive label")
    best = points.frequency[stable[np.argmin(points.loss[stable])]]
    return int(best[0]) if best.size == 1 else tuple(int(k) for k in best)
