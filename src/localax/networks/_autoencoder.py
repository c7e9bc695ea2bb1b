"""Autoencoders, for comparison: what the same stimuli give when the goal is to reconstruct them."""

from collections.abc import Callable
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._types import Key, Leaf
from ..spec import Number, Setting, validated
from ._activations import function_of, named_activation
from ._base import AbstractNetwork, Parameters, Responses, Weights
from ._committee import ACTIVATION, BIAS, UNITS, with_bias


class Autoencoder(AbstractNetwork):
    """Encoder and decoder with their own weights; linear by default, sparse with a penalty on the mean |hidden|."""

    units: Annotated[int, UNITS] = eqx.field(static=True)
    activation: Annotated[str | Callable, ACTIVATION] = eqx.field(static=True)
    bias: Annotated[bool, BIAS] = eqx.field(static=True)
    sparsity: Annotated[Leaf, Setting("weight of the mean absolute hidden activity in the loss", ge=0, typical=(0, 1))]

    def __init__(self, units: int, activation: str | Callable = "identity", bias: bool = False, sparsity: Number = 0.0):
        values = validated(Autoencoder, units=units, bias=bias, sparsity=sparsity)
        self.units, self.bias, self.sparsity = int(values[0]), values[1], values[2]
        self.activation = named_activation(Autoencoder, activation)

    @property
    def reconstructs(self) -> bool:
        return True

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        """The decoder starts at random, drawn with **key**, of the size of the encoder's **weights**."""
        size = jnp.sqrt(jnp.mean(weights**2))
        readout = size * jax.random.normal(key, (self.units, int(np.prod(weights.shape[1:]))), weights.dtype)
        return Parameters(weights, jnp.zeros(self.units, weights.dtype) if self.bias else None, readout)

    def _hidden(self, parameters: Parameters, responses: Responses):
        return function_of(self.activation)(with_bias(responses, parameters.biases))

    def output(self, parameters: Parameters, responses: Responses):
        return jnp.tensordot(jnp.asarray(parameters.readout).T, self._hidden(parameters, responses), 1)

    def penalty(self, parameters: Parameters, responses: Responses):
        size = jnp.mean(jnp.abs(self._hidden(parameters, responses)))
        return jnp.asarray(self.sparsity, size.dtype) * size
