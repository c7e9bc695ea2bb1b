"""The Ising ring, sampled exactly in one pass.

The bonds x_i x_{i+1} are independent, -1 with probability 1/(1 + e^{2J}), conditioned on an even number of -1: walk
round the ring with the parity still owed. That parity is x_i x_0, so one bit of state is enough.
"""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError
from .._math import ring_distance
from .._types import Float, Key, Leaf, Row, Samples
from ..spec import Setting, validated
from ._base import AbstractStimulus
from ._normal_maps import Bernoulli
from ._support import STATES, Support, hypercube_states

COUPLING = Setting("coupling J of neighbours; weight exp(+J sum x_i x_{i+1})", ge=-100, le=100, typical=(-1, 1.5))


class Ising(AbstractStimulus):
    """The Ising ring at coupling J: pixels +-1, nearest neighbours tied, sampled exactly."""

    size: Annotated[int, Setting("pixels of the ring", kind="size")] = eqx.field(static=True)
    coupling: Annotated[Leaf, COUPLING]
    flips: Leaf

    def __init__(self, size: int, coupling):
        self.size, self.coupling = validated(Ising, size=size, coupling=coupling)
        if isinstance(self.size, tuple):
            raise SettingError(f"Ising: size must be a whole number (the Ising model here is a ring), got {size!r}")
        self.flips = flip_probabilities(self.size, float(self.coupling)).astype(np.float32)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        uniforms = jax.random.uniform(key, (self.size, n), jnp.float32)
        # The last bond is forced by the others, so its uniform is free to choose the overall sign.
        first = uniforms[-1] < 0.5

        def walk(spin, step):
            uniform, (even, odd) = step
            flip = uniform < jnp.where(spin == first, even, odd)
            spin = spin ^ flip
            return spin, spin

        flips = jnp.asarray(self.flips)
        _, spins = jax.lax.scan(walk, first, (uniforms[:-1], (flips[:, 0], flips[:, 1])))
        spins = jnp.concatenate([first[None], spins])
        return jnp.where(spins.T, jnp.ones((), dtype), -jnp.ones((), dtype))

    def covariance(self) -> Row:
        """(t^d + t^(N-d))/(1 + t^N), t = tanh J: two sums ``1 +- |t|^m``, which keep their digits at every J."""
        d, coupling = ring_distance(self.size).astype(int), float(self.coupling)
        plain = np.ones(self.size) if coupling >= 0 else (-1.0) ** d
        if coupling == 0:
            return (d == 0).astype(float)
        sums = _parity(np.append(self.size - 2 * d, self.size), coupling)[0]
        return plain * np.exp(d * _log_tanh(coupling)) * sums[:-1] / sums[-1]

    @property
    def marginal(self) -> Bernoulli:
        return Bernoulli()

    def ising_coupling(self) -> float:
        return float(self.coupling)

    def support(self) -> Support | None:
        if 2**self.size > STATES:
            return None
        x = hypercube_states(self.size)
        energy = float(self.coupling) * np.sum(x * np.roll(x, 1, axis=1), axis=1)
        weights = np.exp(energy - energy.max())
        return Support(x, weights / weights.sum())


def flip_probabilities(size: int, coupling: float) -> Float[np.ndarray, "bonds parities"]:
    """P(bond = -1) on each of the first N-1 bonds, given that an even or odd number is owed by it and the rest.

    With m bonds left and t = tanh J, an even number of -1 among them has weight (1 + t^m)/2 and an odd one
    (1 - t^m)/2; written in the logarithm of |t| so that strong couplings keep their digits.
    """
    left = np.arange(size, 1, -1)
    p = 1 / (1 + np.exp(2 * coupling))
    even, odd = _parity(left, coupling)
    even_rest, odd_rest = _parity(left - 1, coupling)
    with np.errstate(invalid="ignore", divide="ignore"):
        chances = np.stack([p * odd_rest / even, p * even_rest / odd], axis=1)
    return np.clip(np.nan_to_num(chances), 0, 1)


def _parity(bonds: np.ndarray, coupling: float) -> tuple[np.ndarray, np.ndarray]:
    """(1 + t^m)/2 and (1 - t^m)/2 for t = tanh J, without cancellation."""
    if coupling == 0:
        return np.full(bonds.shape, 0.5), np.full(bonds.shape, 0.5)
    log_t = _log_tanh(coupling)
    same, other = (1 + np.exp(bonds * log_t)) / 2, -np.expm1(bonds * log_t) / 2
    positive = (coupling > 0) | (bonds % 2 == 0)
    return np.where(positive, same, other), np.where(positive, other, same)


def _log_tanh(coupling: float) -> float:
    """log |tanh J|, which is not 0 where tanh J rounds to 1."""
    strength = abs(coupling)
    if strength < 1:
        return float(np.log(np.tanh(strength)))
    return float(np.log1p(-np.exp(-2 * strength)) - np.log1p(np.exp(-2 * strength)))
