"""A flow is a velocity and a loss in closed form; one adaptive solver follows it from many starts at once."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np

from ..._types import Array, Float, Int
from ...networks import AbstractNetwork
from ...stimuli import Task
from ._solver import LEAST, integrate

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
        """The flow of ``network`` on ``task``; None where they are not of this kind.

        ``tolerance``: the error allowed to f(w) where a flow sums a series; flows in closed form need none.
        """

    def fastest_rate(self, weights: Fields) -> float:
        """How fast the fastest direction decays at ``weights`` (unit, pixel), at least; 0 where that is not known.

        It bounds the solver's steps.
        """
        del weights
        return 0.0

    @abc.abstractmethod
    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        """-dL_E/dw and -dL_E/db at ``weights`` (unit, pixel), pixels flattened, and ``biases`` (unit), None without."""

    @abc.abstractmethod
    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        """L_E, and by name whatever else is worth keeping; ``weights`` and ``biases`` are those of a recorded time."""


class Solution(eqx.Module):
    """A flow at the recorded times, for every seed."""

    weights: Float[Array, "*seeds times units n"]
    biases: Float[Array, "*seeds times units"] | None
    loss: Float[Array, "*seeds times"]
    records: dict[str, Float[Array, "*seeds times"]]
    steps: Int[Array, "*seeds"]
    forced: Int[Array, "*seeds"]
    done: Any


@eqx.filter_jit
def solve(
    flow: AbstractFlow,
    weights: Float[Array, "seeds units n"],
    biases: Float[Array, "seeds units"] | None,
    times: Float[Array, " times"],
    rtol: Float[Array, ""] | Float[np.ndarray, ""],
    atol: Float[Array, ""] | Float[np.ndarray, ""],
) -> Solution:
    """Follow a flow from time 0, by Tsit5 with error control, each seed with its own steps."""

    def one(w, b):
        path = integrate(lambda state: flow.velocity(*state), (w, b), times, rtol, atol, least=LEAST)
        loss, records = jax.lax.map(lambda state: flow.measure(*state), path.states)
        w, b = path.states
        return Solution(w, b, loss, records, path.steps, path.forced, path.good)

    return jax.vmap(one)(weights, biases)


def statuses(solution: Solution) -> tuple[str, ...]:
    """How each seed ended, as a Trajectory has it."""
    counts = zip(*(np.asarray(a) for a in (solution.steps, solution.forced, solution.done)), strict=True)
    done = {False: "done", True: "done beyond tolerance"}
    return tuple(done[bool(forced)] if ok else f"diverged at step {steps}" for steps, forced, ok in counts)
