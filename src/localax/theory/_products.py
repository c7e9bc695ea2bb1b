"""What every closed form of this room shares: products with covariances, and the labels of a task."""

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._types import Array, Float
from ..stimuli import AbstractStimulus, Task

DENSE = 256
"""Up to this many pixels a matrix product beats the FFT."""

Fields = Float[Array, "units n"] | Float[np.ndarray, "units n"]
Images = Float[Array, "classes units n"] | Float[np.ndarray, "classes units n"]

# Products with covariances -------------------------------------------------------------------------------------------


class AbstractProducts(eqx.Module):
    """S_c w for every class c and every unit's field w, pixels flattened; by numpy for its arrays, else by JAX."""

    @abc.abstractmethod
    def __call__(self, w: Fields) -> Images: ...

    @abc.abstractmethod
    def largest(self, proportions: Any) -> float:
        """The largest eigenvalue of sum_c p_c S_c, by numpy."""


class MatrixProducts(AbstractProducts):
    """By matrices, for few pixels and for data that are not periodic."""

    matrices: Float[Array, "classes n n"] | Float[np.ndarray, "classes n n"]

    def __call__(self, w: Fields) -> Images:
        xp = jnp if isinstance(w, jax.Array) else np
        return xp.einsum("cpq,uq->cup", self.matrices, w)

    def largest(self, proportions: Any) -> float:
        """From below, by 30 steps of power iteration: enough for its order of magnitude."""
        together = np.tensordot(np.asarray(proportions), np.asarray(self.matrices), 1)
        w = 1 + 0.1 * np.cos(np.arange(len(together)))  # no wave of the ring is orthogonal to it
        for _ in range(30):
            w = together @ (w / np.linalg.norm(w))
        return float(np.linalg.norm(w))


class FourierProducts(AbstractProducts):
    """By FFT on a ring or torus."""

    spectra: Float[Array, "classes *half"] | Float[np.ndarray, "classes *half"]
    shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, w: Fields) -> Images:
        xp = jnp if isinstance(w, jax.Array) else np
        axes = tuple(range(-len(self.shape), 0))
        waves = xp.fft.rfftn(w.reshape(-1, *self.shape), axes=axes)
        moved = xp.fft.irfftn(self.spectra[:, None] * waves, s=self.shape, axes=axes)
        return moved.reshape(*moved.shape[:2], -1)

    def largest(self, proportions: Any) -> float:
        return float(np.max(np.tensordot(np.asarray(proportions), np.asarray(self.spectra), 1)))


def products(stimuli: Sequence[AbstractStimulus]) -> AbstractProducts:
    """The products with the covariances of these stimuli."""
    shape = stimuli[0].shape
    if int(np.prod(shape)) <= DENSE or not all(s.shift_invariant for s in stimuli):
        return MatrixProducts(jax.device_put(np.stack([s.covariance_matrix() for s in stimuli])))
    return FourierProducts(jax.device_put(np.stack([np.fft.rfftn(s.covariance()).real for s in stimuli])), shape)


def class_labels(task: Task, owner: str) -> Float[Array, " classes"]:
    """The labels of a task with one number per class; a regression has none."""
    if task.labels is None:
        raise setting_error(owner, "task", "a task whose labels are a function of x", "a task with one label per class")
    return jnp.asarray(np.asarray(task.labels, float))


def two_classes(task: Task, owner: str) -> tuple[AbstractStimulus, AbstractStimulus]:
    """The classes of the lower and of the higher label, in this order."""
    labels = np.asarray(class_labels(task, owner))
    if len(labels) != 2 or labels[0] == labels[1]:
        raise setting_error(owner, "task", f"labels {labels.tolist()}", "a task of two classes with different labels")
    low, high = np.argsort(labels)
    return task.stimuli[low], task.stimuli[high]


def is_centred_gaussian(stimulus: AbstractStimulus) -> bool:
    """Whether all pixels are jointly Gaussian with mean 0."""
    return stimulus.is_gaussian and stimulus.elliptical_constant() is not None
