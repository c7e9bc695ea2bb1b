"""Networks whose second layer is fixed: the single ReLU neuron (M2) and the soft committee machine."""

from collections.abc import Callable
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Key, Leaf
from ..spec import Number, Setting, validated
from ._activations import ACTIVATIONS, function_of, named_activation
from ._base import AbstractNetwork, Parameters, Responses, Weights

UNITS = Setting("hidden units", kind=int, ge=1, typical=(1, 40))
ACTIVATION = Setting("nonlinearity of the hidden units, or any function", kind=str, choices=tuple(ACTIVATIONS))
BIAS = Setting("whether hidden units have trained biases", kind=bool)


def with_bias(responses: Responses, biases) -> Responses:
    """Preactivations: responses plus one bias per unit."""
    if biases is None:
        return responses
    biases = jnp.asarray(biases, responses.dtype)
    return responses + biases.reshape(biases.shape + (1,) * (responses.ndim - biases.ndim))


class SingleReLU(AbstractNetwork):
    """One rectified linear neuron without a bias (M2 of the paper): the smallest network that localizes."""

    def __init__(self):
        """Nothing to set; without this, type checkers ask for the fields of the base class."""

    @property
    def units(self) -> int:
        return 1

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        del key
        return Parameters(weights)

    def output(self, parameters: Parameters, responses: Responses):
        del parameters
        return jnp.maximum(responses[0], 0)

    def rate_scale(self) -> float:
        return 1.0  # an open gate lets half of E[x x'] through, and the loss has no 1/2


class SoftCommittee(AbstractNetwork):
    """The mean of several hidden units (second layer fixed at 1/K), with trained biases or without."""

    units: Annotated[int, UNITS] = eqx.field(static=True)
    activation: Annotated[str | Callable, ACTIVATION] = eqx.field(static=True)
    bias: Annotated[bool, BIAS] = eqx.field(static=True)
    offset: Annotated[float, Setting("constant added to every preactivation, not trained", typical=(-1, 1))] = (
        eqx.field(static=True)
    )

    def __init__(self, units: int, activation: str | Callable = "relu", bias: bool = False, offset: Number = 0.0):
        values = validated(SoftCommittee, units=units, bias=bias, offset=offset)
        self.units, self.bias, self.offset = int(values[0]), values[1], float(values[2])
        self.activation = named_activation(SoftCommittee, activation)

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        del key
        return Parameters(weights, jnp.zeros(self.units, weights.dtype) if self.bias else None)

    def output(self, parameters: Parameters, responses: Responses):
        h = with_bias(responses, parameters.biases)
        h = h + self.offset if self.offset else h  # adding 0 would change how XLA rounds
        return jnp.mean(function_of(self.activation)(h), axis=0)

    def rate_scale(self) -> float | None:
        return float(self.units) if self.activation == "relu" else None  # K units alike, each with 1/K^2 of it


class TwoLayer(AbstractNetwork):
    """A two-layer network trained whole (M1): output (v.h + c)/K, v starting at 1 plus small noise."""

    units: Annotated[int, UNITS] = eqx.field(static=True)
    activation: Annotated[str | Callable, ACTIVATION] = eqx.field(static=True)
    bias: Annotated[bool, BIAS] = eqx.field(static=True)
    classes: Annotated[
        int, Setting("outputs, one per class; 1 for a single number", kind=int, ge=1, typical=(1, 10))
    ] = eqx.field(static=True)
    noise: Annotated[Leaf, Setting("standard deviation of the second layer about 1", ge=0, typical=(0, 1))]

    def __init__(
        self, units: int, activation: str | Callable = "relu", bias: bool = True, classes: int = 1, noise: Number = 0.01
    ):
        values = validated(TwoLayer, units=units, bias=bias, classes=classes, noise=noise)
        self.units, self.bias, self.classes, self.noise = int(values[0]), values[1], int(values[2]), values[3]
        self.activation = named_activation(TwoLayer, activation)

    @property
    def outputs(self) -> int:
        return self.classes

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        many = () if self.classes == 1 else (self.classes,)
        noise = jax.random.normal(key, (self.units, *many), weights.dtype) * jnp.asarray(self.noise, weights.dtype)
        biases = jnp.zeros(self.units, weights.dtype) if self.bias else None
        return Parameters(weights, biases, 1 + noise, jnp.zeros(many, weights.dtype))

    def output(self, parameters: Parameters, responses: Responses):
        hidden = function_of(self.activation)(with_bias(responses, parameters.biases))
        readout, constant = jnp.asarray(parameters.readout), parameters.constant
        return with_bias(jnp.tensordot(readout.T, hidden, 1), constant) / self.units
