"""The effective flow (the paper's Eq. 5) solved in time, from many starts at once.

Tsit5 with error control. For lengthscales of a few pixels the step is bounded by stability, about 3.3/lambda_max, so
that a tight tolerance costs next to nothing: at N = 10^5 and lengthscales (1, 3) a relative tolerance of 1e-3 takes
104 steps to t = 100 and 1e-6 takes 111. Weights scale as 1/sqrt N, and the absolute tolerance with them.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..._errors import SettingError
from ..._math import brief_jit
from ..._types import Array, Float
from ...spec import Number, description
from ...stimuli import Task
from ...trajectory import Trajectory
from .._amplifier import Amplifier
from .._checks import checked_start, checked_times, warn_of_data
from .._float64 import in_float64
from ._solver import integrate, is_implicit, refuse_endless
from ._vector_field import AmplifierLike, effective_field


@in_float64
def effective_flow(
    task: Task,
    w0: Any,
    *,
    times: Sequence[Number] | np.ndarray,
    amplifier: AmplifierLike = None,
    rtol: Number = 1e-6,
    atol: Number | None = None,
    solver: Any = None,
) -> Trajectory:
    """Weights of a single ReLU neuron over time, by the effective flow instead of by training.

    **task**: centred classes with one label each. **w0**: the weights at time 0, of shape (*pixels), (seed,
    *pixels) or (seed, 1, *pixels). **times**: when to record, increasing, from 0 on. **amplifier**: None for each
    class's own; "linear", "taylor3" or "taylor5" for its expansion at 0; an ``Amplifier`` or any function phi(a)
    of arrays for all classes alike. **rtol**, **atol**: the error allowed to a step, relative to the weights and
    absolute; **atol** defaults to rtol/sqrt(N). **solver**: any of diffrax's, by default Tsit5; an implicit one suits
    stiff flows. The loss is E(prediction - label)^2 with the same approximation (exact for Gaussian classes). Data that
    are not translation invariant (S2) or not sign symmetric (S3) are taken with a warning that says by how much.
    """
    field = effective_field(task, amplifier)
    warn_of_data("effective_flow", task)
    start = checked_start("effective_flow", w0, task.shape)
    instants = checked_times("effective_flow", times)
    atol = float(rtol / np.sqrt(np.prod(task.shape)) if atol is None else atol)
    if not is_implicit(solver):
        refuse_endless("effective_flow", instants, field.products.largest(np.asarray(field.proportions)))
    weights, loss, steps = solve_effective(field, start, instants, rtol, atol, solver)
    settings = {
        "flow": "effective", "task": description(task), "w0": description(start), "times": description(instants),
        "amplifier": _name(amplifier), "rtol": float(rtol), "atol": atol,
        "solver": "Tsit5" if solver is None else type(solver).__name__, "steps": steps.tolist(),
    }  # fmt: skip
    return Trajectory(instants, weights[:, :, None], loss=loss, settings=settings, pixel_ndim=len(task.shape))


def _name(amplifier: AmplifierLike) -> Any:
    if isinstance(amplifier, Amplifier):
        return {"kind": "Amplifier", "scale": amplifier.scale, "shape": description(amplifier.shape)}
    return description(amplifier)


@in_float64
def solve_effective(
    field: Any,
    start: np.ndarray,
    times: np.ndarray,
    rtol: Number,
    atol: Number,
    solver: Any = None,
    *,
    asker: str = "effective_flow",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (seed, time, *pixels), loss (seed, time) and number of steps (seed).

    ``field``, an ``EffectiveField`` or any other with a loss, is followed from ``start`` (seed, *pixels) to each of
    ``times``, increasing from 0 on, by a ``solver`` of diffrax (None: Tsit5) that keeps the error of a step below
    ``rtol`` times the weights plus ``atol``. ``asker``: the function that errors name as the one that was called.
    """
    tolerance = np.asarray(rtol, float), np.asarray(atol, float)
    weights, loss, steps, good = _solve(field, start, times, *tolerance, solver)
    if not np.all(np.asarray(good)):
        raise SettingError(f"{asker}: the solver gave up after {int(np.max(steps))} steps; raise rtol or atol")
    return np.asarray(weights), np.asarray(loss), np.asarray(steps)


@brief_jit
def _solve(field: Any, start: Any, times: Any, rtol: Any, atol: Any, solver: Any):
    def single(w: Float[Array, "*pixels"]):
        path = integrate(field, w, times, rtol, atol, solver=solver)
        return path.states, jax.vmap(field.loss)(path.states), path.steps, path.good

    return jax.vmap(single)(start)
