"""Optimisers by name: functions of the rate that give an optax optimiser."""

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import optax

from .._errors import refuse_unknown, setting_error

Optimiser = Callable[[Any], optax.GradientTransformation]

OPTIMISERS: dict[str, Optimiser] = {"sgd": optax.sgd, "adam": optax.adam}


def chosen_optimiser(optimiser: Any) -> Optimiser:
    """The optimiser behind a name; any function of the rate stands for itself."""
    if isinstance(optimiser, str):
        refuse_unknown("optimiser", optimiser, OPTIMISERS)
        return OPTIMISERS[optimiser]
    if not callable(optimiser):
        raise setting_error("train", "optimiser", optimiser, "a name or a function of the rate, such as optax.adam")
    return cast("Optimiser", optimiser)


def has_memory(optimiser: Optimiser) -> bool:
    """Whether an optimiser keeps a state of its own from step to step."""
    return bool(jax.tree.leaves(jax.eval_shape(optimiser(0.1).init, jnp.zeros(1))))
