"""The right-hand side of the effective flow (the paper's Eq. 5), for any classes, labels, proportions and variances.

    dw/dt = sum_c p_c [ y_c phi_c(S_c w/sqrt(w S_c w)) - S_c w ]

in the time of Localax (loss without 1/2; with labels 0, 1 and equal shares it is Eq. 5 with tau = 1). Products with
circulant covariances are made by FFT, so time is N log N and memory N.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._settings import wrong
from .._types import Array, Float, Leaf
from ..stimuli import AbstractStimulus, Empirical, GaussianClone, Normal, Task
from ..stimuli._marginals import Weighted
from ._amplifier import SLOPE, Amplifier, Odd, without_error
from ._joint import AbstractProducts, products

Field = Float[Array, "*pixels"]
AmplifierLike = str | Callable | None
NAMES = ("linear", "taylor3", "taylor5")


class Pull(eqx.Module):
    """One class's pull p_c y_c phi_c(a) on the weights; ``scale`` is the standard deviation of each pixel.

    A law stretched by c has the amplifier c phi(a/c), which is how pixels of different variance share one shape.
    """

    index: int = eqx.field(static=True)
    strength: Leaf
    shape: Callable
    scale: Leaf

    def __call__(self, w: Field, image: Field) -> Field:
        # The least positive number keeps a field without variance (w in the null space) from dividing by 0.
        norm = jnp.sqrt(jnp.maximum(jnp.vdot(w, image), 1e-300))
        scale = jnp.asarray(self.scale)
        return jnp.asarray(self.strength) * scale * self.shape(image / norm / jnp.where(scale > 0, scale, 1))


class EffectiveField(eqx.Module):
    """dw/dt of the effective flow at w, and the loss that goes with it."""

    products: AbstractProducts
    pulls: tuple[Pull, ...]
    proportions: Leaf
    offset: Leaf

    def covariances(self, w: Field) -> Float[Array, "classes *pixels"]:
        """S_c w for every class c."""
        return self.products(w.reshape(1, -1))[:, 0].reshape(-1, *w.shape)

    def __call__(self, w: Field) -> Field:
        images = self.covariances(w)
        return self._pull(w, images) - jnp.tensordot(jnp.asarray(self.proportions), images, 1)

    def _pull(self, w: Field, images: Float[Array, "classes *pixels"]) -> Field:
        return sum((pull(w, images[pull.index]) for pull in self.pulls), start=jnp.zeros_like(w))

    def loss(self, w: Field) -> Float[Array, ""]:
        """E(prediction - label)^2, with E ReLU<w,X> = <w, f(w)> (f is the gradient of it) and f_c = phi_c/2."""
        images = self.covariances(w)
        square = jnp.tensordot(jnp.asarray(self.proportions), images, 1)
        return jnp.asarray(self.offset) - jnp.vdot(w, self._pull(w, images)) + jnp.vdot(w, square) / 2


def effective_field(task: Task, amplifier: AmplifierLike = None, *, asker: str = "effective_flow") -> EffectiveField:
    """The effective flow's right-hand side; ``amplifier`` as in :func:`effective_flow`."""
    if not isinstance(task, Task) or task.labels is None:
        raise wrong(asker, "task", task, "a Task with one label per class")
    for stimulus in task.stimuli:
        _check_centred(asker, stimulus)
    labels, shares = np.asarray(task.labels, float), np.asarray(task.proportions)
    pulls = tuple(
        Pull(c, np.asarray(shares[c] * labels[c]), *_shape(asker, stimulus, amplifier))
        for c, stimulus in enumerate(task.stimuli)
        if labels[c] != 0
    )
    return EffectiveField(products(task.stimuli), pulls, shares, np.asarray(np.sum(shares * labels**2)))


def _check_centred(asker: str, stimulus: AbstractStimulus) -> None:
    """The flow is derived for sign-symmetric data; data of one's own are so only up to sampling noise."""
    deviation = math.sqrt(max(float(np.mean(_variances(stimulus))), 1e-300))
    worst = float(np.max(np.abs(stimulus.mean()))) / deviation
    if worst > 0.25:
        raise wrong(asker, "task", f"a mean of {worst:.3g} standard deviations", "centred (subtract each pixel's mean)")


def _variances(stimulus: AbstractStimulus) -> np.ndarray:
    if stimulus.shift_invariant:
        return np.asarray(stimulus.covariance().flat[0])
    return np.diag(stimulus.covariance_matrix()).reshape(stimulus.shape)


def _shape(asker: str, stimulus: AbstractStimulus, amplifier: AmplifierLike) -> tuple[Callable, np.ndarray]:
    """The function phi of a pixel of variance 1, and the pixels' standard deviations."""
    if isinstance(amplifier, Amplifier):
        return amplifier.tabulated().shape, np.asarray(amplifier.scale)
    if callable(amplifier):
        return amplifier, np.asarray(1.0)
    if amplifier is not None and amplifier not in NAMES:
        raise wrong(asker, "amplifier", amplifier, f"None, a function or one of {', '.join(NAMES)}")
    scale = np.asarray(np.sqrt(_variances(stimulus)))
    if amplifier == "linear":
        return Odd((SLOPE,)), scale
    own = without_error(_standard_marginal(stimulus))
    return (own.taylor(int(amplifier[-1])) if amplifier else own.tabulated()).shape, scale


def _standard_marginal(stimulus: AbstractStimulus) -> Any:
    """The law of a pixel; where pixels differ in variance, that of a pixel over its own standard deviation."""
    if isinstance(stimulus, GaussianClone):
        return Normal()
    if isinstance(stimulus, Empirical):
        samples = np.asarray(stimulus.samples, float) - stimulus.mean()
        deviation = samples.std(0)
        return Weighted(samples / np.where(deviation > 0, deviation, 1), np.broadcast_to(deviation > 0, samples.shape))
    return stimulus.marginal
