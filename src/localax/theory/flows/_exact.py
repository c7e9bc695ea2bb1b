"""``exact_flow``: gradient flow on the population loss where it has a closed form, as a Trajectory.

Time is that of training, steps times rate, for the loss E(yhat - Y)^2 without 1/2.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._errors import SettingError, setting_error
from ...networks import AbstractNetwork, SoftCommittee
from ...spec import description, finite_array
from ...stimuli import Task
from ...trajectory import Trajectory
from .._checks import checked_times, checked_units
from .._float64 import in_float64
from ._flow import AbstractFlow, solve, statuses
from ._gaussian_erf import GaussianErf
from ._gaussian_relu import GaussianReLU
from ._solver import refuse_endless
from ._symmetric_relu import SymmetricReLU

FLOWS: tuple[type[AbstractFlow], ...] = (GaussianReLU, GaussianErf, SymmetricReLU)


@in_float64
def exact_flow(
    task: Task,
    network: AbstractNetwork,
    w0: Any,
    *,
    times: Any,
    b0: Any = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    tolerance: float = 1e-3,
) -> Trajectory:
    """Follow the gradient flow of the population loss from given weights.

    **task**, **network**: classes with one label each and a network that one of ``FLOWS`` knows together; any other
    pair is refused. **w0**: (*pixels), (seed, *pixels) or (seed, unit, *pixels), no unit zero; for several units
    also (unit, *pixels). **times**: when to record, increasing, from 0 on; the flow starts at 0. **b0**: biases,
    where they are trained, (unit) or (seed, unit), default 0. **rtol**, **atol**: error control of the solver.
    **tolerance**: error allowed to f(w) on Ising rings of more than 24 spins, whose estimate at each recorded time is
    ``records["velocity_error"]``. A seed that had to take steps so short that error control gives up, as where gates
    jump, has the status "done beyond tolerance".
    """
    if not isinstance(task, Task):
        raise setting_error("exact_flow", "task", task, "a Task")
    if not isinstance(network, AbstractNetwork):
        raise setting_error("exact_flow", "network", network, "a network, e.g. lx.networks.SingleReLU()")
    rtol, atol, tolerance = (_positive(n, v) for n, v in (("rtol", rtol), ("atol", atol), ("tolerance", tolerance)))
    flow = _flow(task, network, tolerance)
    at = checked_times("exact_flow", times)
    weights = jnp.asarray(checked_units("exact_flow", w0, task.shape, network.units, zeros=False))
    biases = _biases(network, b0, weights.shape[:2])
    flat = weights.reshape(*weights.shape[:2], -1)
    refuse_endless("exact_flow", at, flow.fastest_rate(flat[0]))
    solution = solve(flow, flat, biases, jnp.asarray(at), np.asarray(rtol), np.asarray(atol))  # one program for all
    path = np.asarray(solution.weights).reshape(len(weights), len(at), network.units, *task.shape)
    settings = {
        "flow": "exact", "kind": type(flow).__name__, "task": description(task), "network": description(network),
        "rtol": rtol, "atol": atol, "tolerance": tolerance,
    }  # fmt: skip
    return Trajectory(
        time=at,
        weights=path,
        biases=None if solution.biases is None else np.asarray(solution.biases),
        loss=np.asarray(solution.loss),
        records={name: np.asarray(values) for name, values in solution.records.items()},
        settings=settings,
        status=statuses(solution),
        pixel_ndim=len(task.shape),
    )


def _flow(task: Task, network: AbstractNetwork, tolerance: float) -> AbstractFlow:
    for kind in FLOWS:
        flow = kind.build(task, network, tolerance)
        if flow is not None:
            return flow
    classes = ", ".join(dict.fromkeys(type(stimulus).__name__ for stimulus in task.stimuli))
    known = "; ".join(kind.summary for kind in FLOWS)
    name = type(network).__name__
    if isinstance(network, SoftCommittee):
        settings = f"activation={network.activation!r}, bias={network.bias}, offset={network.offset:g}"
        name = f"{name}(units={network.units}, {settings})"
    raise SettingError(f"exact_flow: there is no exact flow for {name} on {classes}; there is one for: {known}")


def _positive(name: str, value: Any) -> float:
    array = finite_array("exact_flow", name, value, "a finite number > 0")
    if array.ndim or array <= 0:
        raise setting_error("exact_flow", name, value, "a finite number > 0")
    return float(array)


def _biases(network: AbstractNetwork, b0: Any, shape: tuple[int, ...]) -> Any:
    trained = isinstance(network, SoftCommittee) and network.bias
    if not trained:
        if b0 is not None:
            raise setting_error("exact_flow", "b0", b0, "left out, as this network trains no biases")
        return None
    expected = f"finite numbers of shape {shape[1:]} or {shape}"
    array = finite_array("exact_flow", "b0", np.zeros(shape) if b0 is None else b0, expected).astype(float)
    if array.shape not in (shape, shape[1:]):
        raise setting_error("exact_flow", "b0", f"shape {array.shape}", expected)
    return jnp.broadcast_to(jnp.asarray(array), shape)
