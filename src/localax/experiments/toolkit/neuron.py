"""The single ReLU neuron of the paper's figures: its start, its training, and how its fields are shown and compared."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...networks import Authors, SingleReLU, seed_keys
from ...outcome import Fields
from ...stimuli import Task
from ...trajectory import Trajectory
from .tasks import SIZE
from .train import train


def neuron() -> SingleReLU:
    """The network of most figures."""
    return SingleReLU()


def authors_start(seeds: Sequence[int] | np.ndarray, size: int = SIZE, scale: float = 1e-3) -> np.ndarray:
    """The paper's own initial weights in float64, (seed, pixel), for the flows that theory integrates."""
    return np.asarray(Authors(scale).weights(seed_keys(seeds), 1, (size,), jnp.float64))[:, 0]


def trained_as_authors(task: Task | Sequence[Task], *, scale: float = 1e-3, **options: Any) -> Trajectory:
    """The neuron trained from the paper's own initial weights, with nothing recorded but its weights."""
    return train(task, neuron(), init=Authors(scale), **options)


WORTH = (20, 80)
"""Plain samples that a sample with its orbit is worth to this neuron at 40 pixels: the ratio of the variances of the
gradient, at small, flat and localized fields, on Gaussian data and Ising spins; the orbit has 80 members."""


def orbit(batch: int) -> str:
    """What a step of the orbit estimator sees, in words."""
    return f"{batch:,} samples with all their shifts and signs"


def worth(batch: int) -> str:
    """The plain batches that are as noisy as such a step, in words."""
    return f"{WORTH[0] * batch:,} to {WORTH[1] * batch:,} plain samples"


def evolution(title: str, path: Trajectory) -> Fields:
    """The first seed's field at four times, closer together early on."""
    moments = np.unique(np.geomspace(1, len(path.time) - 1, 4).astype(int))
    return Fields(title, path.weights[0, moments, 0], tuple(f"t = {path.time[m]:g}" for m in moments))


def apart(a: np.ndarray, b: np.ndarray, *, size: int = SIZE) -> np.ndarray:
    """Distance of two pixels the short way round the ring."""
    return np.abs((a - b + size // 2) % size - size // 2)
