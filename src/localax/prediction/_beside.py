"""What the theory's flows give beside the flow on the data, where data are what they assume: the same at every place,
and with either sign."""

import warnings
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._types import Float, Key, Leaf, Row, Samples
from ..analysis import ipr
from ..spec import Size, checked_size
from ..stimuli import AbstractStimulus, Task, Weighted
from ..theory import Windows, amplifier, effective_flow, window_flow
from ._amplifier import MOST as VALUES
from ._classes import Classes

MOST = 2_000_000
"""Numbers of each class that are looked at."""
PIXELS = 400
"""Beyond so many the flows are not followed: tables of windows take minutes."""
CHOICE = 2**13
"""Samples by which windows are chosen."""


class Stationary(AbstractStimulus):
    """Samples that stand for a law which is the same at every place and for either sign.

    ``samples``: (n, *pixels), of which covariances are means over all places.
    """

    size: Size = eqx.field(static=True)
    samples: Leaf

    def __init__(self, samples: Float[np.ndarray, "n *pixels"]):
        self.samples = samples
        self.size = checked_size(Stationary, samples.shape[1:])

    def draw(self, key: Key, n: int, dtype: Any) -> Samples:
        index = jax.random.randint(key, (n,), 0, self.samples.shape[0], jnp.int32)
        return jnp.asarray(self.samples)[index].astype(dtype)

    def covariance(self) -> Row:
        axes = tuple(range(1, 1 + len(self.shape)))
        waves = np.fft.fftn(np.asarray(self.samples, float), axes=axes)
        return np.fft.ifftn(np.mean(np.abs(waves) ** 2, axis=0)).real / np.prod(self.shape)

    @property
    def marginal(self) -> Weighted:
        some = max(1, VALUES // int(np.prod(self.shape)))
        return Weighted(np.asarray(self.samples[:some]))

    def dataset(self) -> Float[np.ndarray, "n *pixels"]:
        return np.asarray(self.samples)


@dataclass(frozen=True, eq=False)
class Beside:
    """A field of the theory.

    ``flow``: what gave it. ``field``: at the horizon, from the start of the field that stands for all. ``ipr``: of it.
    ``error``: of the windows' gated input where they were chosen, relative; None where there are none.
    """

    flow: str
    field: Float[np.ndarray, "*pixels"]
    ipr: float
    error: float | None


def beside(classes: Classes, start: Float[np.ndarray, "*pixels"], horizon: float) -> tuple[Beside, ...]:
    """Where the effective and the window flow end, from one start, on data of which places and signs are alike."""
    few = classes.most(MOST)
    laws = [Stationary(x.reshape(-1, *classes.shape)) for x in (few.zero, few.one)]
    task, times = Task(laws, [0, 1]), [0.0, horizon]
    shape = amplifier(laws[1].marginal).tabulated()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how far data are from what is assumed, and windows from f, is said elsewhere
        linear = effective_flow(task, start, times=times, amplifier=shape).final[0, 0]
        chosen = Windows.choose(task, w0=start, samples=CHOICE)
    errors = [entry["error"] for entry in chosen.summary() if entry["error"] is not None]
    windows = window_flow(task, start, times=times, order=list(chosen.models)).final[0, 0]
    found = (("effective flow", linear, None), ("window flow", windows, max(errors, default=None)))
    ndim = len(classes.shape)
    return tuple(Beside(name, field, float(ipr(field, ndim=ndim)), error) for name, field, error in found)
