"""Any number of ReLU units on Gaussian or elliptical classes: the update that the network notes leave as "some mess".

With overlaps Q = W S W', d_j = sqrt(Q_jj) and cosines g_jk = Q_jk/(d_j d_k), the two averages that Eqs. 16 to 18 of
the network notes look for are E[1(h_j >= 0) X] = (C/2) S w_j/d_j and

    E[1(h_j >= 0) ReLU(h_k) X] = (1/4 + asin(g_jk)/2pi) S w_k + (d_k/d_j) sqrt(1 - g_jk^2)/2pi S w_j,

the derivative of the arc-cosine kernel. The second is of degree two in X and holds for every elliptical law with S its
covariance; only C depends on the radius (Eq. 11 of the paper, corrected).
"""

from typing import ClassVar

import jax.numpy as jnp

from ..._types import Array, Float
from ...networks import AbstractNetwork, SingleReLU, SoftCommittee
from ...stimuli import Task
from .._products import AbstractProducts, class_labels, products
from ._flow import AbstractFlow, Biases, Fields


def is_relu(network: AbstractNetwork) -> bool:
    """Whether the network is a mean of ReLU units without biases."""
    if isinstance(network, SoftCommittee):
        return network.activation == "relu" and not network.bias and not network.offset
    return isinstance(network, SingleReLU)


def cosines(overlap: Float[Array, "classes units units"]) -> Float[Array, "classes units units"]:
    """Correlations of the preactivations; exactly 1 of a unit with itself, whatever rounding says."""
    norm = jnp.sqrt(jnp.diagonal(overlap, axis1=-2, axis2=-1))
    inside = jnp.clip(overlap / (norm[..., :, None] * norm[..., None, :]), -1, 1)
    return jnp.where(jnp.eye(overlap.shape[-1], dtype=bool), 1.0, inside)


class GaussianReLU(AbstractFlow):
    """K ReLU units on Gaussian or elliptical classes.

    ``products``: w to S_c w for every class c. ``labels`` and ``proportions``: those of the task, one per class.
    ``constants``: C of every class, which is sqrt(2/pi) for a Gaussian.
    """

    summary: ClassVar[str] = "SingleReLU or SoftCommittee(relu) on Gaussian or elliptical classes"

    products: AbstractProducts
    labels: Float[Array, " classes"]
    proportions: Float[Array, " classes"]
    constants: Float[Array, " classes"]

    @classmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> "GaussianReLU | None":
        del tolerance
        constants = [stimulus.elliptical_constant() for stimulus in task.stimuli]
        if not is_relu(network) or any(c is None for c in constants):
            return None
        labels = class_labels(task, "exact_flow")
        return cls(products(task.stimuli), labels, jnp.asarray(task.proportions), jnp.asarray(constants))

    def fastest_rate(self, weights: Fields) -> float:
        return self.products.largest(self.proportions) / weights.shape[0] ** 2

    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        units = weights.shape[0]
        moved = self.products(weights)
        overlap = jnp.einsum("cup,vp->cuv", moved, weights)
        g, norm = cosines(overlap), jnp.sqrt(jnp.diagonal(overlap, axis1=-2, axis2=-1))
        both = (0.25 + jnp.arcsin(g) / (2 * jnp.pi)) / units
        across = jnp.sqrt(1 - g**2) / (2 * jnp.pi) * norm[:, None, :] / norm[:, :, None] / units
        own = (self.labels * self.constants / 2)[:, None] / norm - across.sum(-1)
        pull = own[..., None] * moved - jnp.einsum("cuv,cvp->cup", both, moved)
        return 2 / units * jnp.tensordot(self.proportions, pull, 1), biases if biases is None else jnp.zeros_like(
            biases
        )

    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        del biases
        units = weights.shape[0]
        overlap = jnp.einsum("cup,vp->cuv", self.products(weights), weights)
        g, norm = cosines(overlap), jnp.sqrt(jnp.diagonal(overlap, axis1=-2, axis2=-1))
        kernel = (jnp.sqrt(1 - g**2) + g * (jnp.pi - jnp.arccos(g))) / (2 * jnp.pi)
        square = jnp.einsum("cu,cv,cuv->c", norm, norm, kernel) / units**2
        mean = self.constants / 2 * norm.mean(-1)
        return jnp.sum(self.proportions * (self.labels**2 - 2 * self.labels * mean + square)), {}
