"""A single ReLU neuron on Ising classes: dw/dt = sum_c p_c [2 y_c f_c(w) - S_c w], with f_c from transfer matrices.

Only classes with a label other than 0 need f_c; of the others the covariance is enough, so they may be any
sign-symmetric stimulus.
"""

from typing import ClassVar

import jax.numpy as jnp

from .._types import Array, Float
from ..networks import AbstractNetwork
from ..stimuli import Ising, Task
from ._flow import AbstractFlow, Biases, Fields
from ._gaussian_relu import is_relu
from ._joint import AbstractProducts, class_labels, elliptical_constant, products
from ._transfer import AbstractGate, ising_gate


class IsingReLU(AbstractFlow):
    """One ReLU unit on Ising classes, beside which Gaussian and elliptical ones and any of label 0 may stand."""

    summary: ClassVar[str] = "SingleReLU on Ising classes (those of label 0 may be any sign-symmetric stimulus)"

    products: AbstractProducts
    labels: Float[Array, " classes"]
    proportions: Float[Array, " classes"]
    gates: tuple[AbstractGate | Float[Array, ""], ...]
    """Per class: f on an Ising ring, or the constant C of an elliptical law (0 where f is not needed)."""

    @classmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> "IsingReLU | None":
        if not is_relu(network) or network.units != 1 or not task.sign_symmetric:
            return None
        labels = class_labels(task, "exact_flow")
        gates = [_gate(s, float(y), tolerance) for s, y in zip(task.stimuli, labels, strict=True)]
        known = tuple(gate for gate in gates if gate is not None)
        if len(known) < len(gates):
            return None
        return cls(products(task.stimuli), labels, jnp.asarray(task.proportions), known)

    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        moved = self.products(weights)[:, 0]
        pull = 2 * self.labels[:, None] * self._inputs(weights[0], moved)[0] - moved
        return (self.proportions @ pull)[None], biases

    def _inputs(
        self, w: Float[Array, " n"], moved: Float[Array, "classes n"]
    ) -> tuple[Float[Array, "classes n"], Float[Array, " classes"]]:
        """f_c(w) of every class, and an estimate of its error."""
        rows = []
        for gate, along in zip(self.gates, moved, strict=True):
            elliptical = not isinstance(gate, AbstractGate)
            rows.append((gate / 2 * along / jnp.sqrt(w @ along), jnp.zeros(())) if elliptical else gate(w))
        inputs, errors = zip(*rows, strict=True)
        return jnp.stack(inputs), jnp.stack(errors)

    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        """E ReLU(S) = <w, f(w)> and E ReLU(S)^2 = w'Sw/2; and what the smoothing of f leaves in the velocity."""
        del biases
        w, moved = weights[0], self.products(weights)[:, 0]
        inputs, errors = self._inputs(w, moved)
        mean, square = inputs @ w, moved @ w / 2
        loss = jnp.sum(self.proportions * (self.labels**2 - 2 * self.labels * mean + square))
        return loss, {"velocity_error": jnp.sum(2 * jnp.abs(self.labels) * self.proportions * errors)}


def _gate(stimulus, label: float, tolerance: float) -> AbstractGate | Float[Array, ""] | None:
    if label == 0:
        return jnp.zeros(())
    if isinstance(stimulus, Ising):
        return ising_gate(stimulus, tolerance)
    constant = elliptical_constant(stimulus)
    return None if constant is None else jnp.asarray(constant)
