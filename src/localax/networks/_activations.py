"""Pointwise nonlinearities of hidden units, by name."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .._settings import wrong


def relu(x):
    return jnp.maximum(x, 0)


def erf(x):
    """erf(x/sqrt 2), the sigmoid of the notes: its averages over Gaussians have closed forms."""
    return jax.scipy.special.erf(x * np.sqrt(0.5).astype(x.dtype))


def identity(x):
    return x


ACTIVATIONS: dict[str, Callable] = {
    "relu": relu,
    "erf": erf,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "identity": identity,
}


def activation(owner: type, choice: str | Callable) -> Callable:
    """The function behind a name; any callable stands for itself."""
    if callable(choice):
        return choice
    if choice not in ACTIVATIONS:
        raise wrong(owner, "activation", choice, f"one of {', '.join(ACTIVATIONS)}, or a function")
    return ACTIVATIONS[choice]
