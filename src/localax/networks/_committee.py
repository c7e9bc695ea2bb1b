"""Networks whose second layer is fixed: the single ReLU neuron (M2) and the soft committee machine."""

from collections.abc import Callable
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import Number, Setting, validated, wrong
from .._types import Key, Leaf
from ._activations import ACTIVATIONS, activation
from ._base import AbstractNetwork, Parameters, Responses, Weights

UNITS = Setting("hidden units", kind=int, ge=1, typical=(1, 40))
ACTIVATION = Setting("nonlinearity of the hidden units, or any function", kind=str, choices=tuple(ACTIVATIONS))


def with_bias(responses: Responses, biases) -> Responses:
    """Preactivations: responses plus one bias per unit."""
    if biases is None:
        return responses
    biases = jnp.asarray(biases, responses.dtype)
    return responses + biases.reshape(biases.shape + (1,) * (responses.ndim - biases.ndim))


class SingleReLU(AbstractNetwork):
    """One rectified linear neuron without a bias (M2 of the paper): the smallest network that localizes."""

    @property
    def units(self) -> int:
        return 1

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        del key
        return Parameters(weights)

    def output(self, parameters: Parameters, responses: Responses):
        del parameters
        return jnp.maximum(responses[0], 0)


class SoftCommittee(AbstractNetwork):
    """The mean of several hidden units (second layer fixed at 1/K); biases absent, trained, or fixed at a value."""

    units: Annotated[int, UNITS] = eqx.field(static=True)
    activation: Annotated[str | Callable, ACTIVATION] = eqx.field(static=True)
    bias: Annotated[Any, Setting("whether biases are trained, or the value they are fixed at", kind=bool)] = eqx.field(
        static=True
    )

    def __init__(self, units: int, activation: str | Callable = "relu", bias: bool | Number = False):
        self.units, self.activation, self.bias = _units(SoftCommittee, units), activation, _bias(bias)
        self._sigma()

    def _sigma(self) -> Callable:
        return activation(SoftCommittee, self.activation)

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        del key
        return Parameters(weights, jnp.zeros(self.units, weights.dtype) if self.bias is True else None)

    def output(self, parameters: Parameters, responses: Responses):
        fixed = None if isinstance(self.bias, bool) else jnp.full(self.units, self.bias, responses.dtype)
        biases = parameters.biases if self.bias is True else fixed
        return jnp.mean(self._sigma()(with_bias(responses, biases)), axis=0)


def _units(owner: type, units: Any) -> int:
    return int(validated(owner, units=units)[0])


def _bias(bias: Any) -> bool | float:
    """True for trained biases, False for none, else the value they are fixed at."""
    if isinstance(bias, bool):
        return bias
    if isinstance(bias, int | float | np.number) and np.isfinite(bias):
        return float(bias)
    raise wrong(SoftCommittee, "bias", bias, "False (none), True (trained) or a number (fixed at it)")


class TwoLayer(AbstractNetwork):
    """A two-layer network trained whole (M1): output (v.h + c)/K, v starting at 1 plus small noise."""

    units: Annotated[int, UNITS] = eqx.field(static=True)
    activation: Annotated[str | Callable, ACTIVATION] = eqx.field(static=True)
    bias: Annotated[bool, Setting("whether hidden units have trained biases", kind=bool)] = eqx.field(static=True)
    classes: Annotated[
        int, Setting("outputs, one per class; 1 for a single number", kind=int, ge=1, typical=(1, 10))
    ] = eqx.field(static=True)
    noise: Annotated[Leaf, Setting("standard deviation of the second layer about 1", ge=0, typical=(0, 1))]

    def __init__(
        self, units: int, activation: str | Callable = "relu", bias: bool = True, classes: int = 1, noise: Number = 0.01
    ):
        values = validated(TwoLayer, units=units, bias=bias, classes=classes, noise=noise)
        self.units, self.bias, self.classes, self.noise = int(values[0]), values[1], int(values[2]), values[3]
        self.activation = activation
        self._sigma()

    def _sigma(self) -> Callable:
        return activation(TwoLayer, self.activation)

    @property
    def outputs(self) -> int:
        return self.classes

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        many = () if self.classes == 1 else (self.classes,)
        noise = jax.random.normal(key, (self.units, *many), weights.dtype) * jnp.asarray(self.noise, weights.dtype)
        biases = jnp.zeros(self.units, weights.dtype) if self.bias else None
        return Parameters(weights, biases, 1 + noise, jnp.zeros(many, weights.dtype))

    def output(self, parameters: Parameters, responses: Responses):
        hidden = self._sigma()(with_bias(responses, parameters.biases))
        readout, constant = jnp.asarray(parameters.readout), parameters.constant
        return with_bias(jnp.tensordot(readout.T, hidden, 1), constant) / self.units
