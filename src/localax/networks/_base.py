"""What a two-layer network is: linear filters, and a function of their responses.

Everything a network does to its input goes through inner products with filters of the input's shape. The training
loop can thus compute the responses to all circular shifts of a sample at once, whatever the network.
Responses have the filters on their leading axis and the samples on the last, the layout in which XLA fuses best.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from .._text import readable
from .._types import Array, Float, Key

Weights = Float[Array, "units *pixels"]
Responses = Float[Array, "filters *samples"]


class Parameters(eqx.Module):
    """What is trained. None stands for what a network does not have or does not train."""

    weights: Weights
    """First layer, (unit, *pixels)."""
    biases: Float[Array, " units"] | None = None
    """Added to the responses of the hidden units, (unit)."""
    readout: Float[Array, "units *outputs"] | None = None
    """Second layer, (unit), or (unit, output) where there are several outputs."""
    constant: Float[Array, "*outputs"] | None = None
    """Added to the output: one number, or (output)."""


class AbstractNetwork(eqx.Module):
    """A two-layer network; its parameters are kept apart from it."""

    __repr__ = readable

    units: eqx.AbstractVar[int]

    @abc.abstractmethod
    def parameters(self, weights: Weights, key: Key) -> Parameters:
        """Parameters at the start of training.

        **weights**: the initial first layer, (unit, *pixels). **key**: for whatever else is random.
        """

    @abc.abstractmethod
    def output(self, parameters: Parameters, responses: Responses) -> Float[Array, "*outputs_samples"]:
        """The output for samples; several outputs come on a new leading axis.

        **parameters**: of this network. **responses**: of its :meth:`filters`, (filter, *samples).
        """

    def filters(self, parameters: Parameters) -> Float[Array, "filters *pixels"]:
        """All linear filters the network applies to its input, (filter, *pixels).

        **parameters**: of this network.
        """
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
        """What the network adds to the loss; 0 for all but the sparse autoencoder.

        **parameters**, **responses**: as :meth:`output` takes them.
        """
        del parameters, responses
        return jnp.zeros(())

    def rate_scale(self) -> float | None:
        """The largest stable rate of gradient descent on the squared error, for inputs that are as likely as their
        negatives, in units of 2 over the largest eigenvalue of their second moments; None where none is known.
        """
        return None

    def __call__(self, parameters: Parameters, x: Float[Array, "n *pixels"]) -> Float[Array, "*outputs_samples"]:
        """The output for samples **x** (n, *pixels) at these **parameters**."""
        return self.output(parameters, respond(self.filters(parameters), x))


def respond(filters: Float[Array, "filters *pixels"], x: Float[Array, "n *pixels"]) -> Float[Array, "filters n"]:
    """Inner products (filter, n) of **filters** (filter, *pixels) and samples **x** (n, *pixels)."""
    return filters.reshape(filters.shape[0], -1) @ x.reshape(x.shape[0], -1).T
