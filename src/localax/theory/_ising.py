"""A single ReLU neuron on Ising classes: dw/dt = sum_c p_c [2 y_c f_c(w) - S_c w], with f_c from transfer matrices.

Only classes with a label other than 0 need f_c; of the others the covariance is enough, so they may be any
sign-symmetric stimulus.
"""

from typing import ClassVar, Self

import jax.numpy as jnp

from .._types import Array, Float
from ..networks import AbstractNetwork
from ..stimuli import Ising, Task
from ._flow import AbstractFlow, Biases, Fields
from ._gaussian_relu import is_relu
from ._joint import Products, class_labels, elliptical_constant, products
from ._transfer import AbstractGate, ising_gate


class IsingReLU(AbstractFlow):
    """One ReLU unit on Ising classes, beside which Gaussian and elliptical ones and any of label 0 may stand."""

    summary: ClassVar[str] = "SingleReLU on Ising classes (those of label 0 may be any sign-symmetric stimulus)"

    products: Products
    labels: Float[Array, " classes"]
    proportions: Float[Array, " classes"]
    gates: tuple[AbstractGate | Float[Array, ""], ...]
    """Per class: f on an Ising ring, or the constant C of an elliptical law (0 where f is not needed)."""

    @classmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> Self | None:
        if not is_relu(network) or network.units != 1 or not task.sign_symmetric:
            return None
        labels = class_labels(task, "exact_flow")
        gates = [_gate(s, float(y), tolerance) for s, y in zip(task.stimuli, labels, strict=True)]
        if any(gate is None for gate in gates):
            return None
        return cls(products(task.stimuli), labels, jnp.asarray(task.proportions), tuple(gates))

    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        moved = self.products(weights)[:, 0]
        pull = 2 * self.labels[:, None] * self._inputs(weights[0], moved) - moved
        return (self.proportions @ pull)[None], biases

    def _inputs(self, w: Float[Array, " n"], moved: Float[Array, "classes n"]) -> Float[Array, "classes n"]:
        """f_c(w) of every class."""
        rows = []
        for gate, along in zip(self.gates, moved, strict=True):
            elliptical = not isinstance(gate, AbstractGate)
            rows.append(gate / 2 * along / jnp.sqrt(w @ along) if elliptical else gate(w))
        return jnp.stack(rows)

    def loss(self, weights: Fields, biases: Biases) -> Float[Array, ""]:
        """E ReLU(S) = <w, f(w)> and E ReLU(S)^2 = w'Sw/2."""
        del biases
        w, moved = weights[0], self.products(weights)[:, 0]
        mean, square = self._inputs(w, moved) @ w, moved @ w / 2
        return jnp.sum(self.proportions * (self.labels**2 - 2 * self.labels * mean + square))

    def records(self, weights: Fields, biases: Biases) -> dict[str, Float[Array, "..."]]:
        """The estimated error of the velocity that the smoothing of the gate leaves."""
        del biases
        scale = 2 * jnp.abs(self.labels) * self.proportions
        errors = [g.error(weights[0]) if isinstance(g, AbstractGate) else jnp.zeros(()) for g in self.gates]
        return {"velocity_error": jnp.sum(scale * jnp.stack(errors))}


def _gate(stimulus, label: float, tolerance: float) -> AbstractGate | Float[Array, ""] | None:
    if label == 0:
        return jnp.zeros(())
    if isinstance(stimulus, Ising):
        return ising_gate(stimulus, tolerance)
    constant = elliptical_constant(stimulus)
    return None if constant is None else jnp.asarray(constant)
