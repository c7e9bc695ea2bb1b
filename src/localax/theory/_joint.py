"""The joint law of all pixels, as far as the theory needs it: covariance products, radial constant, finite support.

Every closed form of this room is a statement about second moments plus one more fact: Gaussian and elliptical laws add
a constant (Eq. 11 of the paper, corrected), finite laws a list of states.
"""

import abc
import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._settings import wrong
from .._types import Array, Float
from ..stimuli import (
    AbstractCopula,
    AbstractStimulus,
    BlockPulse,
    Elliptical,
    Empirical,
    Filtered,
    GaussianClone,
    Ising,
    Normal,
    SinglePulse,
    Task,
)

DENSE = 256
"""Up to this many pixels a matrix product beats the FFT."""

STATES = 2**20
"""Laws with at most this many states are summed state by state."""


# Products with covariances -------------------------------------------------------------------------------------------


class AbstractProducts(eqx.Module):
    """S_c w for every class c and every unit's field w, pixels flattened."""

    @abc.abstractmethod
    def __call__(self, w: Float[Array, "units n"]) -> Float[Array, "classes units n"]: ...


class MatrixProducts(AbstractProducts):
    """By matrices, for few pixels and for data that are not periodic."""

    matrices: Float[Array, "classes n n"]

    def __call__(self, w: Float[Array, "units n"]) -> Float[Array, "classes units n"]:
        return jnp.einsum("cpq,uq->cup", self.matrices, w)


class FourierProducts(AbstractProducts):
    """By FFT on a ring or torus."""

    spectra: Float[Array, "classes *half"]
    shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, w: Float[Array, "units n"]) -> Float[Array, "classes units n"]:
        axes = tuple(range(-len(self.shape), 0))
        waves = jnp.fft.rfftn(w.reshape(-1, *self.shape), axes=axes)
        moved = jnp.fft.irfftn(self.spectra[:, None] * waves, s=self.shape, axes=axes)
        return moved.reshape(*moved.shape[:2], -1)


def products(stimuli: Sequence[AbstractStimulus]) -> AbstractProducts:
    """The products with the covariances of these stimuli."""
    shape = stimuli[0].shape
    if int(np.prod(shape)) <= DENSE or not all(s.shift_invariant for s in stimuli):
        return MatrixProducts(jnp.asarray(np.stack([s.covariance_matrix() for s in stimuli])))
    return FourierProducts(jnp.asarray(np.stack([np.fft.rfftn(s.covariance()).real for s in stimuli])), shape)


def class_labels(task: Task, owner: str) -> Float[Array, " classes"]:
    """The labels of a task with one number per class; a regression has none."""
    if task.labels is None:
        raise wrong(owner, "task", "a task whose labels are a function of x", "a task with one label per class")
    return jnp.asarray(np.asarray(task.labels, float))


def two_classes(task: Task, owner: str) -> tuple[AbstractStimulus, AbstractStimulus]:
    """The classes of the lower and of the higher label, in this order."""
    labels = np.asarray(class_labels(task, owner))
    if len(labels) != 2 or labels[0] == labels[1]:
        raise wrong(owner, "task", f"labels {labels.tolist()}", "a task of two classes with different labels")
    low, high = np.argsort(labels)
    return task.stimuli[low], task.stimuli[high]


# Gaussian and elliptical ---------------------------------------------------------------------------------------------


def is_gaussian(stimulus: AbstractStimulus) -> bool:
    """Whether all pixels are jointly Gaussian with mean 0."""
    if isinstance(stimulus, Filtered):
        return is_gaussian(stimulus.stimulus)
    if isinstance(stimulus, GaussianClone):
        return stimulus.sign_symmetric
    return isinstance(stimulus, AbstractCopula) and isinstance(stimulus.marginal, Normal)


def elliptical_constant(stimulus: AbstractStimulus) -> float | None:
    """C = E|<w,X>|/sd(<w,X>), the same for every w where contours are ellipses (Eq. 11 of the paper, corrected: B-06).

    sqrt(2/pi) for Gaussians; None where the law is not elliptical.
    """
    if is_gaussian(stimulus):
        return float(np.sqrt(2 / np.pi))
    if isinstance(stimulus, Filtered):
        return elliptical_constant(stimulus.stimulus)
    return _radial_constant(stimulus) if isinstance(stimulus, Elliptical) else None


def _radial_constant(stimulus: Elliptical) -> float:
    d, radial = stimulus.dimension, stimulus.radial
    ratio = radial.moment(1, d) / np.sqrt(radial.moment(2, d))
    direction = np.exp(special.gammaln(d / 2) - special.gammaln((d + 1) / 2)) / np.sqrt(np.pi)
    return float(np.sqrt(d) * ratio * direction)


# Finite laws ---------------------------------------------------------------------------------------------------------


class Support(eqx.Module):
    """All states of a finite law, flattened, with their probabilities."""

    states: Float[np.ndarray, "states n"]
    probabilities: Float[np.ndarray, " states"]


def support(stimulus: AbstractStimulus) -> Support | None:
    """All states of a stimulus, or None where it has infinitely or too many."""
    for kind, states in _SUPPORTS.items():
        if isinstance(stimulus, kind):
            return states(stimulus)
    return None


@functools.cache
def hypercube(n: int) -> Float[np.ndarray, "states n"]:
    """All 2^n vertices, pixel 0 changing fastest."""
    return 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


def _ising_states(stimulus: Ising) -> Support | None:
    if 2**stimulus.size > STATES:
        return None
    x = hypercube(stimulus.size)
    energy = float(stimulus.coupling) * np.sum(x * np.roll(x, 1, axis=1), axis=1)
    weights = np.exp(energy - energy.max())
    return Support(x, weights / weights.sum())


def _pulse_states(stimulus: SinglePulse) -> Support:
    low, high = stimulus.support
    lengths, n = range(int(stimulus.shortest), int(stimulus.longest) + 1), stimulus.size
    inside = np.stack([(np.arange(n) - start) % n < length for length in lengths for start in range(n)])
    inside = np.concatenate([inside, ~inside]) if stimulus.complement else inside
    return Support(np.where(inside, float(high), float(low)), np.full(len(inside), 1 / len(inside)))


def _block_states(stimulus: BlockPulse) -> Support | None:
    blocks = -(-stimulus.size // int(stimulus.length))
    if stimulus.size * 2**blocks > STATES:
        return None
    which = (np.arange(stimulus.size) + np.arange(stimulus.size)[:, None]) % stimulus.size // int(stimulus.length)
    states = hypercube(blocks)[:, which].reshape(-1, stimulus.size)
    return Support(states, np.full(len(states), 1 / len(states)))


def _empirical_states(stimulus: Empirical) -> Support:
    flat = np.asarray(stimulus.samples, float).reshape(stimulus.samples.shape[0], -1)
    return Support(flat, np.full(len(flat), 1 / len(flat)))


_SUPPORTS: dict[type, Any] = {
    Ising: _ising_states,
    SinglePulse: _pulse_states,
    BlockPulse: _block_states,
    Empirical: _empirical_states,
}
