"""Steady states of a flow by root finding, and how they change with a setting: bifurcation diagrams.

Of the effective flow, or of the window flow where an ``order`` is given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SettingError, setting_error
from ..._math import brief_jit
from ..._types import Array, Float
from ...analysis import ipr
from ...spec import Number, finite_array
from ...stimuli import Task
from .._checks import checked_start
from .._float64 import in_float64
from ..flows import AmplifierLike, EffectiveField, Order, WindowField, effective_field, solve_effective, window_field

VectorField = EffectiveField | WindowField
ROUNDING = 1e-7
"""Growth rates below this are those of a bump that slides: pinned by the lattice more weakly than can be computed."""
LARGEST = 4096
"""Pixels above which the dense Jacobian would no longer fit."""


@dataclass(frozen=True, eq=False)
class SteadyState:
    """A field at which a flow rests, and what becomes of perturbations.

    ``field``: w, (*pixels). ``rates``: growth rates of all N directions, largest first (real parts; a wave that may
    slide has a rate 0). ``residual``: the largest entry of dw/dt that is left, in magnitude. ``ipr``: the field's
    inverse participation ratio, 1/N where flat and 1 for a single pixel. ``loss``: E(prediction - label)^2 in the
    flow's approximation. ``unstable``: how many directions grow.
    """

    field: np.ndarray
    rates: np.ndarray
    residual: float
    ipr: float
    loss: float

    @property
    def unstable(self) -> int:
        return int(np.sum(self.rates > ROUNDING))

    @property
    def stable(self) -> bool:
        return self.unstable == 0


@in_float64
def steady_state(
    task: Task,
    guess: Any,
    *,
    settle: Number = 0.0,
    amplifier: AmplifierLike = None,
    order: Order | None = None,
    tolerance: Number = 1e-11,
) -> SteadyState:
    """The steady state of the effective flow, or of the window flow, near a guess, stable or not, by Levenberg and
    Marquardt's method.

    It finds unstable states too, and does not mind the zero rate of a wave that may slide. **task**, **amplifier**: as
    in ``effective_flow``. **order**: that of ``window_flow``, for its steady states. **guess**: one field (*pixels) of
    at most 4096 pixels, not zero. **settle**: integrate the flow for this long first, so that the state is one the flow
    would reach. **tolerance**: how small dw/dt should become; where it stays above a thousand times that, no state was
    found, and this is an error.
    """
    field, start = _field("steady_state", task, amplifier, order), _start(task, guess)
    w, residual = _found(field, start, settle, tolerance)
    if residual > 1e3 * tolerance:
        raise SettingError(f"steady_state: none near the guess (|dw/dt| stays at {residual:.1e}); try settle=100")
    return _described(field, w, residual)


def _field(asker: str, task: Task, amplifier: AmplifierLike, order: Order | None) -> VectorField:
    if order is None:
        return effective_field(task, amplifier, asker=asker)
    if amplifier is not None:
        raise setting_error(asker, "order", order, "None where an amplifier is given, or the other way round")
    return window_field(task, order, asker=asker)


def _start(task: Task, guess: Any) -> np.ndarray:
    start = checked_start("steady_state", guess, task.shape)
    if len(start) > 1 or start[0].size > LARGEST:
        raise setting_error(
            "steady_state", "guess", f"shape {np.shape(guess)}", f"one field of at most {LARGEST} pixels"
        )
    return start


def _found(field: VectorField, start: np.ndarray, settle: Number, tolerance: Number) -> tuple[np.ndarray, float]:
    if settle > 0:
        weights, _, _ = solve_effective(field, start, np.array([settle], float), 1e-6, 1e-8)
        start = weights[:, -1]
    w, residual = _root(field, jnp.asarray(start[0]), tolerance)
    return np.asarray(w), float(residual)


@eqx.filter_jit
def _root(field: VectorField, w: Float[Array, "*pixels"], tolerance: Number):
    import optimistix as optx  # takes a third of a second to load

    solver = optx.LevenbergMarquardt(rtol=1e-12, atol=tolerance)
    # Weights are of order 1/sqrt N: in units of the start's largest the solver's tolerances mean the same everywhere.
    unit = jnp.max(jnp.abs(w))
    found = optx.root_find(lambda v, f: f(v * unit), solver, w / unit, args=field, max_steps=500, throw=False)
    return found.value * unit, jnp.max(jnp.abs(field(found.value * unit)))


def _described(field: VectorField, w: np.ndarray, residual: float) -> SteadyState:
    rates = growth_rates(field, w)
    return SteadyState(w, rates, residual, float(ipr(w.ravel())), float(_loss(field, jnp.asarray(w))))


def growth_rates(field: VectorField, w: np.ndarray) -> Float[np.ndarray, " directions"]:
    """Real parts of the Jacobian's eigenvalues, largest first."""
    jacobian = np.asarray(_jacobian(field, jnp.asarray(w))).reshape(w.size, w.size)
    return np.sort(np.linalg.eigvals(jacobian).real)[::-1]


@brief_jit
def _jacobian(field: VectorField, w: Float[Array, "*pixels"]) -> Array:
    return jax.jacfwd(field)(w)


@brief_jit
def _loss(field: VectorField, w: Float[Array, "*pixels"]) -> Array:
    """One program: step by step every sum and product would be one."""
    return field.loss(w)


@dataclass(frozen=True, eq=False)
class Branch:
    """One line of a bifurcation diagram: steady states followed along a setting, up to where the line ends.

    ``value`` (point); ``field`` (point, *pixels); ``ipr``, ``loss``, ``residual`` (point); ``rate`` (point): the
    largest growth rate, negative where the state is stable.
    """

    value: np.ndarray
    field: np.ndarray
    ipr: np.ndarray
    rate: np.ndarray
    loss: np.ndarray
    residual: np.ndarray

    @property
    def stable(self) -> np.ndarray:
        return self.rate < ROUNDING


@in_float64
def continue_branch(
    tasks: Callable[[float], Task],
    values: Sequence[Number] | np.ndarray,
    guess: Any,
    *,
    settle: Number = 0.0,
    kick: Number = 0.0,
    amplifier: AmplifierLike = None,
    order: Callable[[Task], Order] | Order | None = None,
    tolerance: Number = 1e-11,
) -> Branch:
    """Follow a steady state along a setting: gain, k, a lengthscale, or anything that makes a task.

    ``tasks`` gives the task for a setting, and ``values`` are the settings, in the order in which to go through them.
    ``guess`` is near the state at the first; every other point starts from the last one's field. ``amplifier`` and
    ``tolerance`` are as in :func:`steady_state`, and ``order`` as well, or a function of the task that gives it, such
    as ``lambda task: Windows(task.stimuli[1], (32, 16))``. With ``settle`` 0 the branch is followed by root finding
    alone, stable or not, and ends where no root is found or the field jumps (by more than half its norm): at a fold.
    With ``settle`` > 0 the flow runs that long at each point, after a ``kick`` of this relative size, so that the
    branch is what a neuron would do under a slowly changing setting: up and down give the two sides of a hysteresis
    loop.
    """
    values = finite_array("continue_branch", "values", values, "finite numbers, one or more").astype(float)
    if values.ndim != 1 or values.size == 0:
        raise setting_error("continue_branch", "values", values, "finite numbers, one or more")
    states: list[SteadyState] = []
    for value in values:
        task = tasks(float(value))
        field = _field("continue_branch", task, amplifier, order(task) if callable(order) else order)
        last = _start(task, states[-1].field if states else guess)
        w, residual = _found(field, _kicked(last, kick), settle, tolerance)
        if residual > 1e3 * tolerance or (states and not settle and _jumped(last[0], w)):
            break
        states.append(_described(field, w, residual))
    if not states:
        raise SettingError(f"continue_branch: no steady state near the guess at {values[0]:g}; try settle=100")
    return _branch(values[: len(states)], states)


def _kicked(start: np.ndarray, kick: Number) -> np.ndarray:
    noise = np.random.default_rng(0).normal(size=start.shape)
    return start + kick * np.sqrt(np.mean(start**2)) * noise


def _jumped(before: np.ndarray, after: np.ndarray) -> bool:
    return bool(np.linalg.norm(after - before) > 0.5 * np.linalg.norm(before))


def _branch(values: np.ndarray, states: list[SteadyState]) -> Branch:
    return Branch(
        value=values,
        field=np.stack([s.field for s in states]),
        ipr=np.array([s.ipr for s in states]),
        rate=np.array([s.rates[0] for s in states]),
        loss=np.array([s.loss for s in states]),
        residual=np.array([s.residual for s in states]),
    )
