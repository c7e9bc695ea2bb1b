"""Where the random numbers of a run come from; no two of these keys are the same by accident.

A seed's own key draws its weights, and a stream's key folded with the number of a step draws the batch of that step.
What else is random is folded in under a number of its own, which no step, seed or stream can have: all of those are
below 2^31.
"""

from typing import Any

import jax
import numpy as np

from .._errors import setting_error
from .._types import Array, Int, Key
from ..networks import seed_keys

READOUT, PROBE, INDEPENDENT = (np.uint32(2**31 + i) for i in range(3))


def readout_keys(seeds: Any) -> Array:
    """One key per seed, for whatever else than its weights a network draws at the start."""
    return jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), READOUT))(seeds)


def probe_key(data_seed: Any) -> Key:
    """The key of the batch on which records are made."""
    return jax.random.fold_in(jax.random.key(data_seed), PROBE)


def stream_keys(data_seed: int, stream: str | int, seeds: np.ndarray) -> Array:
    """One key per stream: one for all seeds, one for each seed, or a given number shared out in order."""
    if stream == "shared":
        return seed_keys([data_seed])
    if stream == "independent":
        return _several(np.int32(data_seed), seeds, INDEPENDENT)
    if isinstance(stream, int) and not isinstance(stream, bool) and stream > 1 and len(seeds) % stream == 0:
        return _several(np.int32(data_seed), np.arange(stream, dtype=np.int32))
    expected = f"'shared', 'independent' or a number that divides the {len(seeds)} seeds"
    raise setting_error("train", "stream", stream, expected)


@jax.jit
def _several(data_seed: Int[Array, ""], numbers: Int[Array, " streams"], under: Any = None) -> Array:
    base = jax.random.key(data_seed)
    base = base if under is None else jax.random.fold_in(base, under)
    return jax.vmap(lambda number: jax.random.fold_in(base, number))(numbers)
