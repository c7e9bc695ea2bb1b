"""A single ReLU neuron on sign-symmetric classes: dw/dt = sum_c p_c [2 y_c f_c(w) - S_c w], wherever f_c is known.

f_c(w) = E[1(<w,X> >= 0) X] comes from transfer matrices (Ising), from a sum over states (any finite law) or from the
constant of an elliptical law. Only classes with a label other than 0 need it; of the others the covariance is enough.
"""

from typing import ClassVar

import jax.numpy as jnp

from ..._types import Array, Float
from ...networks import AbstractNetwork
from ...stimuli import Task
from .._input_gates import exact_gate
from .._products import AbstractProducts, class_labels, products
from .._transfer import AbstractGate
from ._flow import AbstractFlow, Biases, Fields
from ._gaussian_relu import is_relu


class SymmetricReLU(AbstractFlow):
    """One ReLU unit on sign-symmetric classes: Ising, any law of few states, elliptical ones, and any of label 0.

    ``products``: w to S_c w for every class c. ``labels`` and ``proportions``: those of the task, one per class.
    """

    summary: ClassVar[str] = (
        "SingleReLU on Ising rings and sign-symmetric laws of few states (any sign-symmetric stimulus at label 0)"
    )

    products: AbstractProducts
    labels: Float[Array, " classes"]
    proportions: Float[Array, " classes"]
    gates: tuple[AbstractGate | None, ...]
    """f of each class; None where it is not needed."""

    @classmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> "SymmetricReLU | None":
        if not is_relu(network) or network.units != 1 or not task.sign_symmetric:
            return None
        labels = class_labels(task, "exact_flow")
        gates = tuple(exact_gate(s, tolerance) if y else None for s, y in zip(task.stimuli, labels, strict=True))
        if any(gate is None and y for gate, y in zip(gates, labels, strict=True)):
            return None
        return cls(products(task.stimuli), labels, jnp.asarray(task.proportions), gates)

    def fastest_rate(self, weights: Fields) -> float:
        del weights
        return self.products.largest(self.proportions)

    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        moved = self.products(weights)[:, 0]
        drive = 2 * self.labels[:, None] * self._inputs(weights[0])[0] - moved
        return (self.proportions @ drive)[None], biases

    def _inputs(self, w: Float[Array, " n"]) -> tuple[Float[Array, "classes n"], Float[Array, " classes"]]:
        """f_c(w) of every class, and an estimate of its error."""
        nothing = jnp.zeros_like(w), jnp.zeros(())
        inputs, errors = zip(*(nothing if gate is None else gate(w) for gate in self.gates), strict=True)
        return jnp.stack(inputs), jnp.stack(errors)

    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        """L_E at ``weights`` (1, pixel), and what the smoothing of f leaves in the velocity; ``biases`` play no part.

        E ReLU = <w, f(w)> and E ReLU^2 = w'Sw/2.
        """
        del biases
        w, moved = weights[0], self.products(weights)[:, 0]
        inputs, errors = self._inputs(w)
        mean, square = inputs @ w, moved @ w / 2
        loss = jnp.sum(self.proportions * (self.labels**2 - 2 * self.labels * mean + square))
        return loss, {"velocity_error": jnp.sum(2 * jnp.abs(self.labels) * self.proportions * errors)}
