"""The window flow: a single ReLU neuron through localization, by windows of pixels treated exactly.

    dw/dt = sum_c p_c [2 y_c grad E ReLU<w,X_c> - grad E ReLU<w,X_c>^2]

with both expectations by the windows of each class: the gradient flow of a loss, whatever windows are taken.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._types import Array, Float, Leaf
from ...spec import Number, description
from ...stimuli import Task
from ...trajectory import Trajectory
from .._checks import checked_start, checked_times
from .._float64 import in_float64
from .._products import AbstractProducts
from ..windows import AbstractClosure, AbstractGateModel, Orbits, Windows, second_moments
from ._effective import solve_effective
from ._solver import refuse_endless

Order = str | int | AbstractGateModel | Sequence[AbstractGateModel | None]
EXPECTED = '"auto", a whole number of pixels >= 1, a Windows or Orbits, or one of these for each class'


class ClassPull(eqx.Module):
    """What one class adds to the flow: its share, its label, and what a neuron sees of it.

    ``closure`` is None where the class is sign-symmetric and has label 0: then its second moments are enough.
    """

    share: Leaf
    label: Leaf
    closure: AbstractClosure | None
    second: AbstractProducts

    def velocity(self, w: Float[Array, " n"]) -> Float[Array, " n"]:
        if self.closure is None:
            return -jnp.asarray(self.share) * self.second(w[None])[0, 0]
        first, square = self.closure.gradients(w)
        return 2 * jnp.asarray(self.share) * (jnp.asarray(self.label) * first - square)

    def loss(self, w: Float[Array, " n"]) -> Float[Array, ""]:
        if self.closure is None:
            return jnp.asarray(self.share) * (w @ self.second(w[None])[0, 0]) / 2
        mean, square = self.closure.moments(w)
        label = jnp.asarray(self.label)
        return jnp.asarray(self.share) * (label**2 - 2 * label * mean + 2 * square)


class WindowField(eqx.Module):
    """dw/dt of the window flow at w, and the loss that goes with it; :func:`window_field` makes it from a task.

    ``pulls``: what each class adds.
    """

    pulls: tuple[ClassPull, ...]

    @in_float64
    def __call__(self, w: Any) -> Float[Array, "*pixels"]:
        """dw/dt at one field ``w`` (*pixels)."""
        w = jnp.asarray(w)
        return sum((pull.velocity(w.ravel()) for pull in self.pulls), start=jnp.zeros(w.size)).reshape(w.shape)

    @in_float64
    def loss(self, w: Any) -> Float[Array, ""]:
        """E(prediction - label)^2 at one field ``w`` (*pixels)."""
        flat = jnp.asarray(w).ravel()
        return sum((pull.loss(flat) for pull in self.pulls), start=jnp.zeros(()))

    def fastest_rate(self) -> float:
        """The largest eigenvalue of sum_c p_c E[X X'], which bounds the solver's steps; from above."""
        return sum(float(pull.share) * pull.second.largest(np.ones(1)) for pull in self.pulls)


@in_float64
def window_field(task: Task, order: Order = "auto", *, asker: str = "window_flow") -> WindowField:
    """The window flow's right-hand side for a ``task`` of classes with one label each.

    ``order``: as in :func:`window_flow`. ``asker``: the function that errors name as the one that was called.
    """
    return _field(task, _models(task, order, None, asker)[0])


@in_float64
def window_flow(
    task: Task,
    w0: Any,
    *,
    times: Sequence[Number] | np.ndarray,
    order: Order = "auto",
    rtol: Number | None = None,
    atol: Number | None = None,
) -> Trajectory:
    """Weights of a single ReLU neuron over time, through localization, by windows instead of by training.

    **task**: classes with one label each, of any law; data of one's own need be neither periodic nor symmetric. **w0**:
    the weights at time 0, of shape (*pixels), (seed, *pixels) or (seed, 1, *pixels). **times**: when to record,
    increasing, from 0 on. **order**: "auto" for the windows whose f is best along a pilot flow from the first three
    starts (``Windows.choose``), whose errors are in the trajectory's settings; m for the signs of m neighbouring
    pixels; a ``Windows`` for the one class that needs it, or a list with one for each class; an ``Orbits`` follows a
    sample instead. **rtol**, **atol**: the error allowed to a step, relative to the weights and absolute; **rtol**
    defaults to 1e-6, or 1e-3 on samples, whose f jumps at every step; **atol** to rtol/sqrt(N).
    """
    _checked_task("window_flow", task)
    start, instants = checked_start("window_flow", w0, task.shape), checked_times("window_flow", times)
    models, errors = _models(task, order, start, "window_flow")
    field = _field(task, models)
    rtol = float((1e-3 if any(isinstance(model, Orbits) for model in models) else 1e-6) if rtol is None else rtol)
    atol = float(rtol / np.sqrt(np.prod(task.shape)) if atol is None else atol)
    refuse_endless("window_flow", instants, field.fastest_rate())
    weights, loss, steps = solve_effective(field, start, instants, rtol, atol, asker="window_flow")
    settings = {
        "flow": "windows", "task": description(task), "w0": description(start), "times": description(instants),
        "order": [None if model is None else model.described() for model in models], "error": errors, "rtol": rtol,
        "atol": atol, "steps": steps.tolist(),
    }  # fmt: skip
    return Trajectory(instants, weights[:, :, None], loss=loss, settings=settings, pixel_ndim=len(task.shape))


def _checked_task(asker: str, task: Any) -> None:
    if not isinstance(task, Task) or task.labels is None:
        raise setting_error(asker, "task", task, "a Task with one label per class")


Models = tuple[AbstractGateModel | None, ...]


def _models(task: Any, order: Any, start: Any, asker: str) -> tuple[Models, list[float | None] | None]:
    """A model for every class that needs one, and how good each is where that was measured."""
    _checked_task(asker, task)
    if isinstance(order, str) and order == "auto":
        choice = Windows.choose(task, w0=start)
        return choice.models, [entry["error"] for entry in choice.summary()]
    needed = [
        not s.sign_symmetric or bool(label) for s, label in zip(task.stimuli, np.asarray(task.labels), strict=True)
    ]
    if isinstance(order, int | np.integer) and not isinstance(order, bool) and order >= 1:
        levels = (2,) * int(order)
        return tuple(Windows(s, levels) if n else None for s, n in zip(task.stimuli, needed, strict=True)), None
    given: list[Any] = list(order) if isinstance(order, list | tuple) else [order if n else None for n in needed]
    right = len(given) == len(needed) and all(
        _fits(g, s, n) for g, s, n in zip(given, task.stimuli, needed, strict=True)
    )
    if not right or (not isinstance(order, list | tuple) and sum(needed) > 1):
        raise setting_error(asker, "order", order, EXPECTED)
    return tuple(given), None


def _fits(model: Any, stimulus: Any, needed: bool) -> bool:
    if model is None:
        return not needed
    return isinstance(model, AbstractGateModel) and bool(eqx.tree_equal(model.stimulus, stimulus))


def _field(task: Task, models: Models) -> WindowField:
    rows = zip(task.proportions, np.asarray(task.labels, float), models, task.stimuli, strict=True)
    return WindowField(
        tuple(
            ClassPull(np.asarray(p), np.asarray(y), None if m is None else m.closure, second_moments(s))
            for p, y, m, s in rows
        )
    )
