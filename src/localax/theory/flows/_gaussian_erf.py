"""Any number of units erf(h/sqrt 2) with biases on Gaussian classes: weights, biases and loss.

The network notes derive the flow of the biases (Eqs. 37 to 43, for erf(h), and an unnumbered one for many units) and
leave the weights blank. With a = 1 + Q_jj, c = Q_jk, D = 1 + Q_kk - c^2/a and u = (b_k - c b_j/a)/sqrt(2D), Stein's
lemma E[F(h) X] = S sum_k w_k E[dF/dh_k] reduces everything to four averages of s = erf(./sqrt 2):

    m_j  = E s'(h_j)           = sqrt(2/(pi a)) exp(-b_j^2/(2a))          E s''(h_j) = -b_j m_j/a
    I_jk = E s(h_k) s'(h_j)    = m_j erf(u)
    P_jk = E s'(h_k) s'(h_j)   = m_j 2 exp(-u^2)/sqrt(2 pi D)
    H_jk = E s(h_k) s''(h_j)   = -(b_j I_jk + c P_jk)/a
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, ndtr

from ..._types import Array, Float
from ...networks import AbstractNetwork, SoftCommittee
from ...stimuli import Task
from .._products import AbstractProducts, class_labels, is_centred_gaussian, products
from ._flow import AbstractFlow, Biases, Fields

Pairs = Float[Array, "units units"]


class Averages(eqx.Module):
    """The averages over one class that the flow is made of; entry (j, k) belongs to the equation of unit j."""

    slope: Float[Array, " units"]
    bend: Float[Array, " units"]
    value_slope: Pairs
    slope_slope: Pairs
    value_bend: Pairs


def averages(overlap: Pairs, biases: Float[Array, " units"]) -> Averages:
    """The four averages above, from the covariance of the preactivations and the biases."""
    own, bias = 1 + jnp.diagonal(overlap), biases
    m = jnp.sqrt(2 / (jnp.pi * own)) * jnp.exp(-(bias**2) / (2 * own))
    spread = own[None, :] - overlap**2 / own[:, None]
    u = (bias[None, :] - overlap * (bias / own)[:, None]) / jnp.sqrt(2 * spread)
    value_slope = m[:, None] * erf(u)
    slope_slope = m[:, None] * 2 * jnp.exp(-(u**2)) / jnp.sqrt(2 * jnp.pi * spread)
    value_bend = -(bias[:, None] * value_slope + overlap * slope_slope) / own[:, None]
    return Averages(m, -bias * m / own, value_slope, slope_slope, value_bend)


class GaussianErf(AbstractFlow):
    """K erf units on Gaussian classes, with trained biases or without.

    ``products``: w to S_c w for every class c. ``labels`` and ``proportions``: those of the task, one per class.
    ``trained``: whether the biases are. ``offset``: what every unit's bias has added to it.
    """

    summary: ClassVar[str] = "SoftCommittee(erf), with or without biases, on Gaussian classes"

    products: AbstractProducts
    labels: Float[Array, " classes"]
    proportions: Float[Array, " classes"]
    trained: bool = eqx.field(static=True)
    offset: float = eqx.field(static=True)

    @classmethod
    def build(cls, task: Task, network: AbstractNetwork, tolerance: float) -> "GaussianErf | None":
        del tolerance
        if not isinstance(network, SoftCommittee) or network.activation != "erf":
            return None
        if not all(is_centred_gaussian(stimulus) for stimulus in task.stimuli):
            return None
        labels, shares = class_labels(task, "exact_flow"), jnp.asarray(task.proportions)
        return cls(products(task.stimuli), labels, shares, network.bias, network.offset)

    def _biases(self, weights: Fields, biases: Biases) -> Float[Array, " units"]:
        return (jnp.zeros(weights.shape[0]) if biases is None else biases) + self.offset

    def velocity(self, weights: Fields, biases: Biases) -> tuple[Fields, Biases]:
        units, b = weights.shape[0], self._biases(weights, biases)
        moved = self.products(weights)
        overlap = jnp.einsum("cup,vp->cuv", moved, weights)
        mean = jax.vmap(averages, in_axes=(0, None))(overlap, b)
        y = self.labels[:, None]
        own = y * mean.bend - mean.value_bend.sum(-1) / units
        pull = own[..., None] * moved - jnp.einsum("cuv,cvp->cup", mean.slope_slope, moved) / units
        shift = y * mean.slope - mean.value_slope.sum(-1) / units
        rate = 2 / units
        along = None if biases is None else rate * jnp.tensordot(self.proportions, shift, 1)
        return rate * jnp.tensordot(self.proportions, pull, 1), along

    def measure(self, weights: Fields, biases: Biases) -> tuple[Float[Array, ""], dict[str, Float[Array, "..."]]]:
        b = self._biases(weights, biases)
        overlap = jnp.einsum("cup,vp->cuv", self.products(weights), weights)
        mean, square = jax.vmap(output_moments, in_axes=(0, None))(overlap, b)
        return jnp.sum(self.proportions * (self.labels**2 - 2 * self.labels * mean + square)), {}


def output_moments(overlap: Pairs, biases: Float[Array, " units"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """E yhat and E yhat^2 in one class: E s(h_j) s(h_k) = 4 Phi2(t_j, t_k; R_jk) - 2 Phi(t_j) - 2 Phi(t_k) + 1."""
    scale = jnp.sqrt(1 + jnp.diagonal(overlap))
    t, r = biases / scale, overlap / (scale[:, None] * scale[None, :])
    pairs = 4 * bivariate_normal(t[:, None], t[None, :], r) - 2 * ndtr(t)[:, None] - 2 * ndtr(t)[None, :] + 1
    return jnp.mean(2 * ndtr(t) - 1), jnp.mean(pairs)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def bivariate_normal(h: Float[Array, "..."], k: Float[Array, "..."], r: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(Z1 < h, Z2 < k) for normals of correlation r, by Plackett's integral over the angle.

    Phi(h) Phi(k) + (1/2pi) int_0^asin(r) exp(-(h^2 + k^2 - 2 h k sin a)/(2 cos^2 a)) da, with 64 Gauss-Legendre nodes:
    1e-12 for |r| <= 0.99.
    """
    top = jnp.arcsin(r)
    angle = top[..., None] * (1 + _NODES) / 2
    h, k = jnp.asarray(h)[..., None], jnp.asarray(k)[..., None]
    exponent = -(h**2 + k**2 - 2 * h * k * jnp.sin(angle)) / (2 * jnp.cos(angle) ** 2)
    integral = top / 2 * jnp.sum(_WEIGHTS * jnp.exp(exponent), axis=-1)
    return (ndtr(h) * ndtr(k))[..., 0] + integral / (2 * jnp.pi)
