"""From the key of an experiment to the whole numbers that training takes as data seeds."""

from typing import Any

import jax


def data_seed(key: Any, part: int = 0) -> int:
    """The data seed of one part of an experiment: another for every part and every key."""
    return int(jax.random.randint(jax.random.fold_in(key, part), (), 0, 2**31 - 1))
