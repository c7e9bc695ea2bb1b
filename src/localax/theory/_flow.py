"""A flow is a velocity and a loss in closed form; one adaptive solver follows it from many starts at once."""

import abc
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import numpy as np

from .._types import Array, Float, Int
from ..networks import AbstractNetwork
from ..stimuli import Task
from ._solver import integrate

Fields = Float[Array, "units n"]
Biases = Float[Array, " units"] | None


class AbstractFlow(eqx.Module):
    """The gradient flow of L_E = E(yhat - Y)^2 for one kind of task and network, without sampling.

    A new flow is one class in the tuple ``FLOWS``.
    """

    summary: ClassVar[str]
    """Which network on which stimuli, in a few words."""

    @classmethod
    @abc.abstractmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> "AbstractFlow | None":
        """The flow of this task and network; None where it is not of this kind."""

    @abc.abstractmethod
    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        """-dL_E/dw and -dL_E/db."""

    @abc.abstractmethod
    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        """L_E, and by name whatever else is worth keeping at each recorded time."""


class Solution(eqx.Module):
    """A flow at the recorded times, for every seed."""

    weights: Float[Array, "*seeds times units n"]
    biases: Float[Array, "*seeds times units"] | None
    loss: Float[Array, "*seeds times"]
    records: dict[str, Float[Array, "*seeds times"]]
    steps: Int[Array, "*seeds"]
    done: Any


@eqx.filter_jit
def solve(
    flow: AbstractFlow,
    weights: Float[Array, "seeds units n"],
    biases: Float[Array, "seeds units"] | None,
    times: Float[Array, " times"],
    rtol: float | Float[Array, ""],
    atol: float | Float[Array, ""],
) -> Solution:
    """Follow a flow from time 0, by Tsit5 with error control, each seed with its own steps."""

    controller = diffrax.PIDController(rtol=rtol, atol=atol, dtmin=1e-7, force_dtmin=True)

    def one(w, b):
        path, steps, done = integrate(lambda state: flow.velocity(*state), (w, b), times, controller)
        loss, records = jax.lax.map(lambda state: flow.measure(*state), path)
        return Solution(path[0], path[1], loss, records, steps, done)

    return jax.vmap(one)(weights, biases)


def statuses(solution: Solution) -> tuple[str, ...]:
    """One word per seed, as a Trajectory has it."""
    steps, done = np.asarray(solution.steps), np.asarray(solution.done)
    return tuple("done" if ok else f"diverged at step {n}" for n, ok in zip(steps, done, strict=True))
