"""One adaptive solver for every flow of this room: error control, values at given times, and whether it got there."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from .._types import Array, Float, Int

STEPS = 1_000_000
"""More steps than any flow of this room needs; whoever takes them all has not arrived."""
FIRST = 1e-3
"""First step; the controller finds its own from there, and compiles faster than one that searches for it."""


def integrate(
    velocity: Callable[[Any], Any],
    start: Any,
    times: Float[Array, " times"],
    controller: diffrax.PIDController,
    *,
    solver: diffrax.AbstractSolver = diffrax.Tsit5(),  # noqa: B008 (it has no state)
) -> tuple[Any, Int[Array, ""], Array]:
    """The state at each of ``times``, from time 0 on; how many steps that took; whether all of it is finite."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda _, state, __: velocity(state)),
        solver,
        t0=jnp.zeros(()),
        t1=times[-1],
        dt0=FIRST,
        y0=start,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=controller,
        max_steps=STEPS,
        adjoint=diffrax.ForwardMode(),  # nobody differentiates a flow backwards, and not being able to compiles faster
        throw=False,
    )
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(found.ys)]))
    return found.ys, found.stats["num_steps"], (found.result == diffrax.RESULTS.successful) & finite
