"""What a two-layer network is: linear filters, and a function of their responses.

Everything a network does to its input goes through inner products with filters of the input's shape. The training
loop can thus compute the responses to all circular shifts of a sample at once, whatever the network.
Responses have the filters on their leading axis and the samples on the last, the layout in which XLA fuses best.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from .._types import Array, Float, Key

Weights = Float[Array, "units *pixels"]
Responses = Float[Array, "filters *samples"]


class Parameters(eqx.Module):
    """What is trained. None stands for what a network does not have or does not train."""

    weights: Weights
    biases: Float[Array, " units"] | None = None
    readout: Float[Array, "units *outputs"] | None = None
    constant: Float[Array, "*outputs"] | None = None


class AbstractNetwork(eqx.Module):
    """A two-layer network; its parameters are kept apart from it."""

    units: eqx.AbstractVar[int]

    @abc.abstractmethod
    def parameters(self, weights: Weights, key: Key) -> Parameters:
        """Parameters at the start of training, from the initial weights and a key for whatever else is random."""

    @abc.abstractmethod
    def output(self, parameters: Parameters, responses: Responses) -> Float[Array, "*outputs_samples"]:
        """The output from the responses of :meth:`filters`; several outputs come on a new leading axis."""

    def filters(self, parameters: Parameters) -> Float[Array, "filters *pixels"]:
        """All linear filters the network applies to its input."""
        return parameters.weights

    @property
    def outputs(self) -> int:
        """How many numbers the network gives per sample; 1 stands for one number without an axis."""
        return 1

    @property
    def reconstructs(self) -> bool:
        """Whether the target is the input itself."""
        return False

    def penalty(self, parameters: Parameters, responses: Responses) -> Float[Array, ""]:
        """What the network adds to the loss; 0 for all but the sparse autoencoder."""
        del parameters, responses
        return jnp.zeros(())

    def __call__(self, parameters: Parameters, x: Float[Array, "n *pixels"]) -> Float[Array, "*outputs_samples"]:
        """The output for samples."""
        return self.output(parameters, respond(self.filters(parameters), x))


def respond(filters: Float[Array, "filters *pixels"], x: Float[Array, "n *pixels"]) -> Float[Array, "filters n"]:
    """Inner products of filters and samples."""
    return filters.reshape(filters.shape[0], -1) @ x.reshape(x.shape[0], -1).T
