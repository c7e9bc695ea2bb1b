"""Gated linear networks in training beside their closed form: what the questions about gates have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ...networks import GatedLinear
from ...stimuli import Task
from .seeds import seed_from
from .train import train


@dataclass(frozen=True)
class Paths:
    """Training on independent streams of data from one start (run, time, unit, pixel), and the closed form."""

    time: np.ndarray
    trained: np.ndarray
    exact: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.trained.mean(0)

    def deviation(self, form: np.ndarray | None = None) -> np.ndarray:
        """Distance of the mean over runs from a form (the closed one), in standard errors of that mean, at every record
        but the common start."""
        form = self.exact if form is None else form
        error = np.sqrt(self.trained.var(0, ddof=1).sum((-2, -1)) / len(self.trained))
        return np.linalg.norm(self.mean - form, axis=(-2, -1))[1:] / np.maximum(error[1:], np.finfo(error.dtype).tiny)

    def distance(self, form: np.ndarray | None = None) -> np.ndarray:
        """The same, relative to the norm of the mean run."""
        form = self.exact if form is None else form
        return (np.linalg.norm(self.mean - form, axis=(-2, -1)) / np.linalg.norm(self.mean, axis=(-2, -1)))[1:]


def follow(
    task: Task, network: GatedLinear, start: np.ndarray, closed: Callable[[np.ndarray], np.ndarray], *,
    runs: int, steps: int, rate: float, batch: int, key: Any,
) -> Paths:  # fmt: skip
    """Train from one start on several streams; ``closed`` gives the weights of the closed form at given times."""
    run = train(
        task, network, steps=steps, batch=batch, rate=rate, seeds=runs, init=start, estimator="orbit",
        stream="independent", data_seed=seed_from(key), save_every=max(steps // 40, 1),
    )  # fmt: skip
    return Paths(run.time, run.weights, closed(run.time))


def random_start(key: Any, units: int, size: int) -> np.ndarray:
    """Weights of norm about 1 in every unit, in the precision of training."""
    return np.asarray(jax.random.normal(key, (units, size), np.float32)) / np.sqrt(size).astype(np.float32)
