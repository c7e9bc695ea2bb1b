"""A fixed-point iteration that never lowers the objective of a ReLU neuron: w <- M^-1 sum_c 2 p_c y_c f_c(w).

For labels >= 0 the drive h(w) = sum_c p_c y_c E_c ReLU is convex and homogeneous, so it lies above its tangent <g, w>
at any field, g = sum_c p_c y_c f_c. With E ReLU^2 = w'Mw/2 on sign-symmetric classes, the loss lies below a parabola
that touches it there, and the step goes to the bottom of the parabola. No rate is needed.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError, setting_error
from .._math import circular_correlate
from .._types import Array, Float
from ..spec import checked_count, description
from ..stimuli import AbstractStimulus, Task
from ..trajectory import Trajectory
from ._checks import checked_start
from ._estimate import draw
from ._float64 import in_float64
from ._input_gates import exact_gate
from ._objective import METHODS, checked_convex, inverse_power
from ._transfer import AbstractGate

ALLOWED = 1e-4
"""Error of f(w) on Ising rings of more than 24 spins."""


@in_float64
def ascend_objective(
    task: Task,
    w0: Any,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-8,
    method: str = "exact",
    samples: int = 5000,
    seed: int = 0,
) -> Trajectory:
    """Climb the objective J from given fields by steps that never lower it, to where the gradient flow rests too.

    **task**: sign-symmetric classes with one label >= 0 each, not all 0. **w0**: where to start, (*pixels) or (seed,
    *pixels), no field zero; heights do not count. **iterations**: steps at most; it ends when no field moves by more
    than **tolerance** of its norm. **method**: "exact" where f(w) is known (:func:`mean_gated_input`), or "sampled":
    f(w) of **samples** draws a class from **seed**, the same at every step, with all their signs and, on a ring or
    torus, all their shifts. Covariances are exact in both, so that steps never lower the sampled J either.

    Time counts steps; ``loss`` is E(y - ReLU)^2 at every field and ``records["objective"]`` its J.
    """
    asker = "ascend_objective"
    shares, labels = checked_convex(task, asker)
    if method not in METHODS:
        raise setting_error(asker, "method", method, f"one of {', '.join(METHODS)}")
    iterations = checked_count(asker, iterations)
    if not np.isfinite(tolerance) or tolerance < 0:
        raise setting_error(asker, "tolerance", tolerance, "a finite number >= 0")
    w = checked_start(asker, w0, task.shape)
    gates = _exact_gates(task, labels) if method == "exact" else _sampled_gates(task, labels, samples, seed)
    step = _Step(gates, jnp.asarray((shares * labels)[labels != 0]), jnp.asarray(inverse_power(task)))
    path, drive = _followed(step, w.reshape(len(w), -1), iterations, tolerance)
    power = np.einsum("tsp,pq,tsq->ts", path, _power(task), path) / 2
    loss = np.sum(shares * labels**2) - 2 * drive + power
    settings = {"flow": "ascent of the objective", "task": description(task), "method": method,
                "tolerance": tolerance}  # fmt: skip
    if method == "sampled":
        settings |= {"samples": samples, "seed": seed}
    return Trajectory(
        np.arange(len(path)),
        np.moveaxis(path, 0, 1).reshape(len(w), len(path), 1, *task.shape),
        loss=loss.T,
        records={"objective": (2 * drive / np.sqrt(power)).T},
        settings=settings,
        pixel_ndim=len(task.shape),
    )


def _power(task: Task) -> Float[np.ndarray, "n n"]:
    return np.tensordot(np.asarray(task.proportions), np.stack([s.covariance_matrix() for s in task.stimuli]), 1)


# The step -------------------------------------------------------------------------------------------------------------


class _Step(eqx.Module):
    """Gates of the labelled classes, p_c y_c of each, and M^-1."""

    gates: tuple[AbstractGate, ...]
    weights: Float[Array, " labelled"]
    inverse: Float[Array, "n n"]

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """The next field, and E[y ReLU] at this one."""
        drive = self.weights @ jnp.stack([gate(w)[0] for gate in self.gates])
        return 2 * self.inverse @ drive, w @ drive


@eqx.filter_jit
def _stepped(step: _Step, w: Float[Array, "seeds n"]) -> tuple[Float[Array, "seeds n"], Float[Array, " seeds"]]:
    return jax.lax.map(step, w)


def _followed(step: _Step, w: np.ndarray, iterations: int, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """All fields (time, seed, pixel), and E[y ReLU] at each."""
    path, drives = [w], []
    for i in range(iterations + 1):
        found, drive = (np.asarray(a) for a in _stepped(step, jnp.asarray(path[-1])))
        drives.append(drive)
        moved = np.linalg.norm(found - path[-1], axis=1) > tolerance * np.linalg.norm(found, axis=1)
        if i == iterations or not moved.any():
            break
        path.append(found)
    return np.stack(path), np.stack(drives)


# f of each labelled class ---------------------------------------------------------------------------------------------


class SampledGate(AbstractGate):
    """f(w) = E[sign(S) X]/2 over given samples, their signs and, with ``shifts``, all their shifts."""

    x: Float[Array, "n *pixels"]
    shifts: bool = eqx.field(static=True)

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        shape, ndim = self.x.shape[1:], self.x.ndim - 1
        if not self.shifts:
            flat = self.x.reshape(len(self.x), -1)
            return jnp.sign(flat @ w) @ flat / (2 * len(flat)), jnp.zeros(())
        signs = jnp.sign(circular_correlate(self.x, w.reshape(shape), ndim))
        return (jnp.mean(circular_correlate(self.x, signs, ndim), axis=0) / (2 * w.size)).ravel(), jnp.zeros(())


def _exact_gates(task: Task, labels: np.ndarray) -> tuple[AbstractGate, ...]:
    found = []
    for stimulus in _labelled(task, labels):
        gate = exact_gate(stimulus, ALLOWED)
        if gate is None:
            name = type(stimulus).__name__
            raise SettingError(f"ascend_objective: no exact form is known for {name}; use method='sampled'")
        found.append(gate)
    return tuple(found)


def _sampled_gates(task: Task, labels: np.ndarray, samples: int, seed: int) -> tuple[AbstractGate, ...]:
    n = checked_count("ascend_objective", samples, 2)
    drawn = [(s, draw(s, seed, c, 0, n)) for c, s in enumerate(_labelled(task, labels))]
    return tuple(SampledGate(x.reshape(n, *s.shape), s.shift_invariant) for s, x in drawn)


def _labelled(task: Task, labels: np.ndarray) -> list[AbstractStimulus]:
    return [s for s, y in zip(task.stimuli, labels, strict=True) if y]
