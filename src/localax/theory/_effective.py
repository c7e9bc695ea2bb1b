"""The effective flow (the paper's Eq. 5) solved in time, from many starts at once.

Tsit5 with error control. For lengthscales of a few pixels the step is bounded by stability, about 3.3/lambda_max, so
that a tight tolerance costs next to nothing: at N = 10^5 and lengthscales (1, 3) a relative tolerance of 1e-3 takes
104 steps to t = 100 and 1e-6 takes 111. Weights scale as 1/sqrt N, and the absolute tolerance with them.
"""

from collections.abc import Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import Number, description, finite_array, wrong
from .._trajectory import Trajectory
from .._types import Array, Float
from ..stimuli import Task
from ._amplifier import Amplifier
from ._solver import integrate
from ._vector_field import AmplifierLike, EffectiveField, effective_field
from ._x64 import require_x64


def effective_flow(
    task: Task,
    w0: Any,
    *,
    times: Sequence[Number] | np.ndarray,
    amplifier: AmplifierLike = None,
    rtol: Number = 1e-6,
    atol: Number | None = None,
    solver: diffrax.AbstractSolver | None = None,
) -> Trajectory:
    """Weights of a single ReLU neuron over time, by the effective flow instead of by training.

    **w0**: the weights at time 0, of shape (*pixels), (seed, *pixels) or (seed, 1, *pixels). **times**: when to
    record, increasing, from 0 on. **amplifier**: None for each class's own; "linear", "taylor3" or "taylor5" for its
    expansion at 0; an :class:`Amplifier` or any function phi(a) of arrays for all classes alike. **atol** defaults
    to rtol/sqrt(N). The loss is E(prediction - label)^2 with the same approximation (exact for Gaussian classes).
    """
    require_x64()
    field = effective_field(task, amplifier)
    start = checked_start("effective_flow", w0, task.shape)
    instants = checked_times("effective_flow", times)
    atol = float(rtol / np.sqrt(np.prod(task.shape)) if atol is None else atol)
    solver = diffrax.Tsit5() if solver is None else solver
    weights, loss, steps = solve(field, start, instants, solver, rtol, atol)
    settings = {
        "flow": "effective", "task": description(task), "w0": description(start), "times": description(instants),
        "amplifier": _name(amplifier), "rtol": float(rtol), "atol": atol,
        "solver": type(solver).__name__, "steps": steps.tolist(),
    }  # fmt: skip
    return Trajectory(instants, weights[:, :, None], loss=loss, settings=settings, pixel_ndim=len(task.shape))


def _name(amplifier: AmplifierLike) -> Any:
    if isinstance(amplifier, Amplifier):
        return {"kind": "Amplifier", "scale": amplifier.scale, "shape": description(amplifier.shape)}
    return description(amplifier)


def solve(
    field: EffectiveField,
    start: np.ndarray,
    times: np.ndarray,
    solver: diffrax.AbstractSolver,
    rtol: Number,
    atol: Number,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (seed, time, *pixels), loss (seed, time) and number of steps (seed)."""
    tolerance = jnp.asarray(rtol, jnp.float64), jnp.asarray(atol, jnp.float64)
    weights, loss, steps, good = _solve(field, jnp.asarray(start), jnp.asarray(times), solver, *tolerance)
    if not np.all(good):
        raise ValueError(f"effective_flow: the solver gave up after {int(np.max(steps))} steps; raise rtol or atol")
    return np.asarray(weights), np.asarray(loss), np.asarray(steps)


@eqx.filter_jit
def _solve(field: EffectiveField, start: Array, times: Array, solver: diffrax.AbstractSolver, rtol: Array, atol: Array):
    controller = diffrax.PIDController(rtol=rtol, atol=atol)

    def single(w: Float[Array, "*pixels"]):
        weights, steps, good = integrate(field, w, times, controller, solver=solver)
        return weights, jax.vmap(field.loss)(weights), steps, good

    return jax.vmap(single)(start)


def checked_start(asker: str, w0: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "seeds *pixels"]:
    """Starting weights with one axis of seeds, or one line that says what is wrong with them."""
    expected = f"finite numbers of shape {shape}, (seed, {_inside(shape)}) or (seed, 1, {_inside(shape)})"
    array = finite_array(asker, "w0", w0, expected).astype(float)
    lead = array.shape[: array.ndim - len(shape)]
    if array.shape[len(lead) :] != shape or len(lead) > 2 or lead[1:] not in ((), (1,)) or 0 in array.shape:
        raise wrong(asker, "w0", f"shape {array.shape}", expected)
    array = array.reshape(-1, *shape)
    if not np.all(np.any(array.reshape(len(array), -1) != 0, axis=1)):
        raise wrong(asker, "w0", "a field of zeros", "not zero everywhere: the flow has no direction there")
    return array


def _inside(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def checked_times(asker: str, times: Any) -> Float[np.ndarray, " time"]:
    """Times to record, or one line that says what is wrong with them."""
    expected = "finite numbers >= 0 that increase"
    array = finite_array(asker, "times", times, expected).astype(float)
    if array.ndim != 1 or array.size == 0 or array[0] < 0 or np.any(np.diff(array) <= 0):
        raise wrong(asker, "times", times, expected)
    return array
