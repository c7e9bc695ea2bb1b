"""Laws of finitely many states: all of them, with their probabilities."""

import functools

import equinox as eqx
import numpy as np

from .._types import Float

STATES = 2**20
"""Laws of more states than this are not listed, but for data sets."""


class Support(eqx.Module):
    """All ``states`` of a finite law, (state, pixel) with pixels flattened, and their ``probabilities``."""

    states: Float[np.ndarray, "states n"]
    probabilities: Float[np.ndarray, " states"]


def even_support(states: Float[np.ndarray, "states n"]) -> Support:
    """States that are equally likely."""
    return Support(states, np.full(len(states), 1 / len(states)))


@functools.cache
def hypercube_states(n: int) -> Float[np.ndarray, "states n"]:
    """All 2^n vertices of {-1, 1}^n for ``n`` pixels, pixel 0 changing fastest."""
    return 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
