"""One adaptive integrator for every flow: diffrax's solver, step size control and interpolation, step by step.

``diffeqsolve`` would do the same, bit for bit. But it checks its times by calling back into Python, and a program that
does so cannot be kept in JAX's cache: it would be compiled again in every process, and takes twice as long to compile.

diffrax is imported where it is used, as it takes a third of a second to load.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._types import Array, Float, Int

STEPS = 1_000_000
"""More steps than any flow of this room needs; whoever takes them all has not arrived."""
FIRST = 1e-3
"""First step; the controller finds its own from there, and compiles faster than one that searches for it."""
LEAST = 1e-7
"""The least step: where a gate jumps, no step is short enough for the tolerance, and this one is taken."""
STABLE = 3.3
"""Tsit5 is stable up to steps of about this over the fastest rate of the flow."""


class Path(NamedTuple):
    """A flow at given times."""

    states: Any
    """With a leading axis of times."""
    steps: Int[Array, ""]
    forced: Int[Array, ""]
    """How many steps were as short as allowed and still less exact than asked for."""
    good: Array
    """Whether it came to its end, and all of it is finite."""


class _At(NamedTuple):
    """Where an integration stands: the step that comes next, what solver and controller remember, what is saved and
    how many times of it."""

    time: Any
    next: Any
    state: Any
    solver: Any
    controller: Any
    saved: Any
    place: Array
    steps: Array
    forced: Array


def integrate(
    velocity: Callable[[Any], Any],
    start: Any,
    times: Float[Array, " times"],
    rtol: Any,
    atol: Any,
    *,
    least: float | None = None,
    solver: Any = None,
) -> Path:
    """Follow a flow from time 0 and keep its state at each of ``times``.

    **least**: the least step, which is taken although the error is too large; None for no such step.
    **solver**: a solver of diffrax, by default Tsit5.
    """
    import diffrax

    terms: Any = diffrax.ODETerm(lambda _, state, __: velocity(state))
    controller: Any = diffrax.PIDController(rtol, atol, dtmin=least)
    solver = diffrax.Tsit5() if solver is None else _as_exact(solver, controller)
    order, end = solver.error_order(terms), times[-1]

    def going_on(at: _At) -> Array:
        return (at.time < end) & (at.steps < STEPS)

    def step(at: _At) -> _At:
        new, error, dense, memory, result = solver.step(terms, at.time, at.next, at.state, None, at.solver, False)
        failed = ~diffrax.is_successful(result)
        error = jax.tree.map(lambda e: jnp.where(failed | jnp.isnan(e), jnp.inf, e), error)  # is then taken shorter
        kept, time, following, _, control, _ = controller.adapt_step_size(
            at.time, at.next, at.state, new, None, error, order, at.controller
        )
        path = solver.interpolation_cls(t0=at.time, t1=at.next, **dense)
        saved, place = _saved(at, kept, times, path)
        state, memory = jax.tree.map(lambda a, b: jnp.where(kept, a, b), (new, memory), (at.state, at.solver))
        forced = at.forced + (kept & ~_exact(controller, at.state, new, error))
        return _At(time, _until(end, time, following, kept), state, memory, control, saved, place, at.steps + 1, forced)

    last = jax.lax.while_loop(going_on, step, _begun(terms, start, times, controller, solver, order))
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(last.saved)]))
    return Path(last.saved, last.steps, last.forced, finite & (last.time >= end))


def is_implicit(solver: Any) -> bool:
    """Whether a solver of diffrax is stable at any step."""
    import diffrax

    return isinstance(solver, diffrax.AbstractImplicitSolver)


def _as_exact(solver: Any, controller: Any) -> Any:
    """The solver; if it is implicit, it finds its roots to the tolerance of its steps."""
    import diffrax

    if not is_implicit(solver):
        return solver
    finder = diffrax.VeryChord(controller.rtol, controller.atol, norm=controller.norm)
    return eqx.tree_at(lambda s: s.root_finder, solver, finder)


def _begun(terms: Any, start: Any, times: Array, controller: Any, solver: Any, order: Any) -> _At:
    zero, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
    first, control = controller.init(terms, zero, times[-1], start, FIRST, None, solver.func, order)
    first = jnp.minimum(first, times[-1])
    saved = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*times.shape, *leaf.shape)), start)
    memory = solver.init(terms, zero, first, start, None)
    return _At(zero, first, start, memory, control, saved, jnp.sum(times <= 0, dtype=jnp.int32), none, none)


def _saved(at: _At, kept: Any, times: Array, path: Any) -> tuple[Any, Array]:
    """What is saved after a step: the states at all times that it went past, if it is kept."""

    def due(carry: tuple[Any, Array]) -> Array:
        return kept & (carry[1] < len(times)) & (times[jnp.minimum(carry[1], len(times) - 1)] <= at.next)

    def save(carry: tuple[Any, Array]) -> tuple[Any, Array]:
        saved, i = carry
        return jax.tree.map(lambda every, one: every.at[i].set(one), saved, path.evaluate(times[i])), i + 1

    return jax.lax.while_loop(due, save, (at.saved, at.place))


def _until(end: Array, time: Any, following: Any, kept: Any) -> Array:
    """The end of the next step, not beyond that of the flow; where a last step was refused, half of what is left."""
    near = following > end * (1 - 100 * jnp.finfo(end.dtype).eps)
    return jnp.where(near, jnp.where(kept, end, time + (end - time) / 2), following)


def _exact(controller: Any, old: Any, new: Any, error: Any) -> Any:
    """Whether the error of a step that is kept is as small as the controller asks for."""
    if controller.dtmin is None:
        return np.True_
    size = jax.tree.map(lambda a, b: jnp.maximum(jnp.abs(a), jnp.abs(b)), old, new)
    return controller.norm(jax.tree.map(lambda e, s: e / (controller.atol + controller.rtol * s), error, size)) < 1


def refuse_endless(asker: str, times: Float[np.ndarray, " time"], fastest: float) -> None:
    """Refuse at once what would take more steps than are allowed, each as long as stability lets it be."""
    if times[-1] * fastest / STABLE > STEPS:
        most = STEPS * STABLE / fastest
        raise setting_error(asker, "times", float(times[-1]), f"at most {most:.2g}, which takes a million steps")
