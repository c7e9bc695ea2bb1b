"""Does a spread field give way on data that are not shift invariant? The Jacobian of the true flow where it rests.

Without shifts there is no flat field and there are no waves. What takes their place is the fixed point that continues
the one of Gaussian data with the same second moments, and the eigenvectors of the Jacobian there. Gates are smoothed by
the integral of a kernel of order 6, so that the flow over samples has a derivative.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import scipy

from ..._errors import SettingError
from ..._types import Float
from ...analysis import localized
from ...spec import checked_count
from ...stimuli import AbstractStimulus, Task
from .._float64 import in_float64
from .._products import two_classes
from ._zero_sum import EXPONENT, window

GROUPS = 10
"""Of samples, each left out once for the standard errors."""
STEPS = 60
CLOSE = 1e-9
"""Length of a step, in units of the field's, at which Newton's method has ended."""


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A fixed point of the true flow on samples, and what grows there.

    ``field``: shaped like the pixels. ``rates``: eigenvalues of the Jacobian, the largest first; the field is stable
    where all are negative. ``standard_error``: of the rates, by leaving out samples. ``directions`` (rate, *pixels):
    the eigenvectors. ``localized``: whether the field itself is localized; then there is no spread one to give way.
    """

    field: np.ndarray
    rates: np.ndarray
    standard_error: np.ndarray
    directions: np.ndarray
    localized: bool


@in_float64
def spread_state(task: Task, *, samples: int = 2**15, seed: int = 0) -> SpreadState:
    """The fixed point that continues the spread one of Gaussian data, with its growth rates, from samples.

    ``task``: two classes of any kind, the higher label positive; data sets count as they are, with all their samples,
    of laws so many ``samples`` a class are drawn with ``seed``. On a ring or torus it is the flat field, with the rates
    of :func:`exact_growth_rates`, which knows them better.
    """
    low, high = two_classes(task, "spread_state")
    labels = np.sort(np.asarray(task.labels, float))
    if not labels[1] > 0:
        raise SettingError(f"spread_state: labels must have one that is positive, got {labels.tolist()}")
    n = checked_count("spread_state", samples, 10 * GROUPS)
    shares = np.asarray(task.proportions)[np.argsort(np.asarray(task.labels, float))]
    data = _Data([_drawn(low, n, seed), _drawn(high, n, seed + 1)], shares, labels)
    w = _fixed_point(data, _gaussian_start(data))
    rates, directions = _modes(data.jacobian(w))
    left_out = [_modes(part.jacobian(_fixed_point(part, w)))[0] for part in (data.without(g) for g in range(GROUPS))]
    error = np.std(left_out, axis=0) * math.sqrt(GROUPS - 1)
    fields = directions.T.reshape(-1, *task.shape)
    local = bool(localized(w.reshape(task.shape), ndim=len(task.shape)))
    return SpreadState(w.reshape(task.shape), rates, error, fields, local)


def _drawn(stimulus: AbstractStimulus, n: int, seed: int) -> Float[np.ndarray, "n pixels"]:
    found = stimulus.dataset()
    x = stimulus.sample(jax.random.key(seed), n) if found is None else found
    return np.asarray(x, float).reshape(len(x), -1)


@dataclass(frozen=True, eq=False)
class _Data:
    """Samples of both classes, with their shares and labels."""

    x: list[np.ndarray]
    shares: np.ndarray
    labels: np.ndarray

    def without(self, group: int) -> "_Data":
        kept = [np.delete(x, np.s_[group::GROUPS], axis=0) for x in self.x]
        return _Data(kept, self.shares, self.labels)

    def velocity(self, w: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """dw/dt = 2 E[gate (y - s) x]."""
        return sum((2 * p * (self._gate(x @ w)[0] * (y - x @ w)) @ x / len(x) for x, p, y in self._classes()), w * 0)

    def jacobian(self, w: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
        total = np.zeros((w.size, w.size))
        for x, p, y in self._classes():
            s = x @ w
            gate, density = self._gate(s)
            total += 2 * p * (x.T * (density * (y - s) - gate)) @ x / len(x)
        return total

    def _classes(self) -> Any:
        return zip(self.x, self.shares, self.labels, strict=True)

    def _gate(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The integral of the kernel from below, and the kernel, at a width that falls with the number of samples."""
        width = float(np.sqrt(np.mean(s**2))) * len(s) ** EXPONENT
        u = s / width
        normal = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
        return scipy.special.ndtr(u) + (7 * u - u**3) * normal / 8, window(u) / width


def _gaussian_start(data: _Data) -> Float[np.ndarray, " n"]:
    """Where Gaussian data with the same second moments would end: the direction of least ratio, at its height."""
    moments = [x.T @ x / len(x) for x in data.x]
    floor = 1e-9 * np.trace(moments[1]) / len(moments[1]) * np.eye(len(moments[1]))
    _, vectors = scipy.linalg.eigh(moments[0] + floor, moments[1] + floor)
    v = vectors[:, 0]
    spreads = [math.sqrt(v @ m @ v) for m in moments]
    drive = np.sum(data.shares * data.labels * np.array(spreads)) * math.sqrt(2 / math.pi)
    w = v * drive / np.sum(data.shares * np.array(spreads) ** 2)
    return max((w, -w), key=lambda one: float(one @ data.velocity(0.5 * one)))


def _fixed_point(data: _Data, w: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Newton's method, with steps of at most a fifth of the field."""
    for _ in range(STEPS):
        step = np.linalg.lstsq(data.jacobian(w), -data.velocity(w), rcond=1e-10)[0]
        length, size = float(np.linalg.norm(step)), float(np.linalg.norm(w))
        w = w + step * min(1.0, 0.2 * size / max(length, 1e-300))
        if length < CLOSE * size:
            return w
    raise SettingError("spread_state: no fixed point was found near that of Gaussian data with the same second moments")


def _modes(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, the largest first, and eigenvectors; the flow is a gradient, so that its Jacobian is symmetric."""
    rates, vectors = np.linalg.eigh((jacobian + jacobian.T) / 2)
    return rates[::-1], vectors[:, ::-1]
