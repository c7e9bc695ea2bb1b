"""The theory works in float64 by itself, whatever JAX is set to: numpy in, numpy out."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from .._system import make_room

P = ParamSpec("P")
R = TypeVar("R")


def in_float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with JAX in float64 and give numpy arrays back; one that is being traced is left as it is."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **options: P.kwargs) -> R:
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, options))):
            return function(*args, **options)
        make_room()
        with jax.enable_x64(True):
            result = function(*args, **options)
        return np.asarray(result) if isinstance(result, jax.Array) else result  # pyright: ignore[reportReturnType]

    return wrapped
