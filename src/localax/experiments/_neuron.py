"""The single ReLU neuron of the paper's figures, and the weights it starts from there."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..networks import Authors, SingleReLU
from ._tasks import SIZE

NEURON = SingleReLU()  # pyright: ignore[reportCallIssue] (its number of units is a property)


def authors_start(seeds: Sequence[int] | np.ndarray, size: int = SIZE, scale: float = 1e-3) -> np.ndarray:
    """The paper's own initial weights in float64, (seed, pixel), for the flows that theory integrates."""
    return np.asarray(Authors(scale).weights(np.asarray(seeds), 1, (size,), jnp.float64))[:, 0]
