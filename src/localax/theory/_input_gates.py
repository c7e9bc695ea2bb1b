"""f(w) = E[1(<w,X> >= 0) X] of one class as an object that compiles: for whatever a stimulus knows of its own law."""

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from .._types import Array, Float
from ..stimuli import AbstractStimulus
from ._products import AbstractProducts, products
from ._transfer import AbstractGate, ising_gate


class EllipticalGate(AbstractGate):
    """(C/2) S w/sqrt(w'Sw)."""

    products: AbstractProducts
    constant: float

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        moved = self.products(w[None])[0, 0]
        return self.constant / 2 * moved / jnp.sqrt(w @ moved), jnp.zeros(())


class GaussianGate(AbstractGate):
    """A Gaussian of mean m: m Phi(<w,m>/s) + (S w/s) density(<w,m>/s)."""

    products: AbstractProducts
    mean: Float[Array, " n"]

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        moved = self.products(w[None])[0, 0]
        spread = jnp.sqrt(w @ moved)
        t = w @ self.mean / spread
        return self.mean * norm.cdf(t) + moved / spread * norm.pdf(t), jnp.zeros(())


class StatesGate(AbstractGate):
    """The sum over all states; ties are open gates, up to rounding."""

    states: Float[Array, "states n"]
    probabilities: Float[Array, " states"]
    size: float
    """The largest magnitude of a pixel."""

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        is_open = self.states @ w >= -1e-12 * jnp.sum(jnp.abs(w)) * self.size
        return (self.probabilities * is_open) @ self.states, jnp.zeros(())


class MultipleGate(AbstractGate):
    """A stimulus times a factor."""

    gate: AbstractGate
    factor: float

    def __call__(self, w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        value, error = self.gate(math.copysign(1, self.factor) * w)
        return self.factor * value, abs(self.factor) * error


def exact_gate(stimulus: AbstractStimulus, tolerance: float) -> AbstractGate | None:
    """f of a stimulus at every w, by the best that it knows of itself; None where there is no exact form."""
    single, factor = stimulus.multiple_of()
    gate = _gate(single, tolerance / abs(factor))
    return gate if gate is None or factor == 1 else MultipleGate(gate, factor)


def _gate(stimulus: AbstractStimulus, tolerance: float) -> AbstractGate | None:
    coupling, constant = stimulus.ising_coupling(), stimulus.elliptical_constant()
    if constant is not None:
        return EllipticalGate(products([stimulus]), constant)
    if stimulus.is_gaussian:
        return GaussianGate(products([stimulus]), jnp.asarray(stimulus.mean().ravel()))
    if coupling is not None:
        return ising_gate(math.prod(stimulus.shape), coupling, tolerance)
    law = stimulus.support()
    if law is None:
        return None
    return StatesGate(jnp.asarray(law.states), jnp.asarray(law.probabilities), float(np.max(np.abs(law.states))))
