"""Whole numbers for whoever asks for a seed, out of the one key that an experiment is given."""

from typing import Any

import jax
import numpy as np


def seeds_from(key: Any, count: int) -> np.ndarray:
    """Different seeds of initialisations, or of streams of data."""
    start = int(jax.random.randint(key, (), 0, 2**31 - 1 - count))
    return np.arange(start, start + count)


def seed_from(key: Any) -> int:
    return int(seeds_from(key, 1)[0])
