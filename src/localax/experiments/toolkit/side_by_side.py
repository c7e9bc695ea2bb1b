"""Networks that differ in nothing but in who shares an output with whom: the same starts, the same batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...networks import AbstractNetwork, Parameters

READOUT_NOISE = 0.01
"""Standard deviation of a learned second layer about 1 at the start, as in the paper's code."""


@dataclass(frozen=True, order=True)
class Kind:
    """Networks of one width, and what else differs between them; a second layer that is not learned is fixed at 1/K."""

    width: int
    activation: str = "relu"
    bias: bool = False
    learned: bool = False

    def __str__(self) -> str:
        also = (self.activation * (self.activation != "relu"), "bias" * self.bias, "learned" * self.learned)
        return "alone" if self.width == 1 else ", ".join(filter(None, (f"K = {self.width}", *also)))

    @property
    def pace(self) -> float:
        """How often its loss must count for a unit to move at the pace of a ReLU neuron alone."""
        return self.width * 4.0 ** (self.activation == "erf")


class SideBySide(AbstractNetwork):
    """Networks of several **kinds** that know nothing of one another: one output for each of them, on a leading axis.

    **used**: for every kind, how many of the starting fields its networks share out.
    """

    kinds: tuple[Kind, ...] = eqx.field(static=True)
    used: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, kinds: Sequence[Kind], used: Sequence[int]):
        self.kinds, self.used = tuple(kinds), tuple(used)

    @property
    def units(self) -> int:
        return sum(self.used)

    @property
    def networks(self) -> tuple[int, ...]:
        """How many there are of every kind."""
        return tuple(n // kind.width for kind, n in zip(self.kinds, self.used, strict=True))

    @property
    def loss(self) -> "SquaredErrors":
        """The squared errors, so that all units move at one pace."""
        counts = zip(self.kinds, self.networks, strict=True)
        return SquaredErrors(tuple(kind.pace for kind, count in counts for _ in range(count)))

    def by_kind(self, values: np.ndarray, counts: Sequence[int], axis: int) -> dict[Kind, np.ndarray]:
        """Values of all units (**counts** are those ``used``), or of all ``networks``, cut into those of each kind."""
        return dict(zip(self.kinds, np.split(np.asarray(values, float), np.cumsum(counts)[:-1], axis), strict=True))

    def parameters(self, weights: Any, key: Any) -> Parameters:
        kind = weights.dtype
        biases = jnp.zeros(self.units, kind) if any(one.bias for one in self.kinds) else None
        if not any(one.learned for one in self.kinds):
            return Parameters(weights, biases)
        readout = 1 + READOUT_NOISE * jax.random.normal(key, (self.units,), kind)
        return Parameters(weights, biases, readout, jnp.zeros(sum(self.networks), kind))

    def output(self, parameters: Parameters, responses: Any) -> Any:
        parts, last, last_network = [], 0, 0
        for kind, n, count in zip(self.kinds, self.used, self.networks, strict=True):
            own, networks = slice(last, last + n), slice(last_network, last_network + count)
            parts.append(_outputs(kind, parameters, responses[own], own, networks))
            last, last_network = own.stop, networks.stop
        return jnp.concatenate(parts)


def _outputs(kind: Kind, parameters: Parameters, h: Any, own: slice, networks: slice) -> Any:
    """Outputs of the networks of a kind; erf units answer -1 or 1, which is moved to the labels 0 and 1."""

    def of(values: Any, which: slice) -> Any:
        return jnp.asarray(values)[which].reshape(-1, *(1,) * (h.ndim - 1))

    if kind.bias:
        h = h + of(parameters.biases, own)
    hidden = jnp.maximum(h, 0) if kind.activation == "relu" else (1 + jax.scipy.special.erf(h / np.float32(2**0.5))) / 2
    if kind.learned:
        hidden = hidden * of(parameters.readout, own)
    means = jnp.mean(hidden.reshape(-1, kind.width, *h.shape[1:]), axis=1)
    return means + of(parameters.constant, networks) / kind.width if kind.learned else means


@dataclass(frozen=True)
class SquaredErrors:
    """The squared errors of all networks, each times its ``weight``; equal weights are one compiled program."""

    weight: tuple[float, ...]

    def __call__(self, prediction: Any, target: Any) -> Any:
        weights = jnp.asarray(self.weight, prediction.dtype).reshape(-1, *(1,) * (prediction.ndim - 1))
        return jnp.sum(weights * (prediction - target) ** 2, axis=0)


def shares(local: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of units (..., unit) that are **local**, of networks of a **width**, and its standard error.

    The error is that over networks, and not below that of a fair count.
    """
    each = local.reshape(*local.shape[:-1], -1, width).mean(-1)
    count, units = local.sum(-1) + 1, local.shape[-1] + 2
    least = np.sqrt(count / units * (1 - count / units) / units)
    over = each.std(-1, ddof=1) / np.sqrt(each.shape[-1]) if each.shape[-1] > 1 else 0.0
    return each.mean(-1), np.maximum(over, least)
