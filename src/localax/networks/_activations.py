"""Pointwise nonlinearities of hidden units, by name."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import refuse_unknown, setting_error


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


def named_activation(owner: type, choice: str | Callable) -> str | Callable:
    """An activation as it is kept: by its name where it has one, so that equal networks look equal."""
    if callable(choice):
        return next((name for name, function in ACTIVATIONS.items() if function is choice), choice)
    if not isinstance(choice, str):
        raise setting_error(owner, "activation", choice, "a name or a function")
    refuse_unknown("activation", choice, ACTIVATIONS)
    return choice


def function_of(choice: str | Callable) -> Callable:
    """The function behind a name; any function stands for itself."""
    return choice if callable(choice) else ACTIVATIONS[choice]
