"""The right-hand side of the effective flow (the paper's Eq. 5), for any classes, labels, proportions and variances.

    dw/dt = sum_c p_c [ y_c phi_c(S_c w/sqrt(w S_c w)) - S_c w ]

in the time of Localax (loss without 1/2; with labels 0, 1 and equal shares it is Eq. 5 with tau = 1). Products with
circulant covariances are made by FFT, so time is N log N and memory N.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._types import Array, Float, Leaf
from ...stimuli import AbstractStimulus, Task
from .._amplifier import SLOPE, Amplifier, Odd, without_error
from .._float64 import in_float64
from .._products import AbstractProducts, products

Field = Float[Array, "*pixels"]
FieldLike = Field | Float[np.ndarray, "*pixels"]
AmplifierLike = str | Callable | None
NAMES = ("linear", "taylor3", "taylor5")


class ClassDrive(eqx.Module):
    """What one class adds to the flow, p_c y_c phi_c(a); ``scale`` is the standard deviation of each pixel.

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
    """dw/dt of the effective flow at w, and the loss that goes with it; :func:`effective_field` makes it from a task.

    ``products``: w to S_c w for every class c. ``drives``: p_c y_c phi_c for every class whose label is not 0.
    ``proportions``: p_c. ``offset``: E Y^2, the loss at w = 0.
    """

    products: AbstractProducts
    drives: tuple[ClassDrive, ...]
    proportions: Leaf
    offset: Leaf

    @in_float64
    def covariances(self, w: FieldLike) -> Float[Array, "classes *pixels"]:
        """S_c w for every class c, of one field ``w`` (*pixels)."""
        return self._images(jnp.asarray(w))

    @in_float64
    def __call__(self, w: FieldLike) -> Field:
        """dw/dt at one field ``w`` (*pixels)."""
        w = jnp.asarray(w)
        images = self._images(w)
        return self._drive(w, images) - jnp.tensordot(jnp.asarray(self.proportions), images, 1)

    @in_float64
    def loss(self, w: FieldLike) -> Float[Array, ""]:
        """E(prediction - label)^2 at one field ``w`` (*pixels).

        With E ReLU<w,X> = <w, f(w)>, as f is the gradient of it, and f_c = phi_c/2.
        """
        w = jnp.asarray(w)
        images = self._images(w)
        square = jnp.tensordot(jnp.asarray(self.proportions), images, 1)
        return jnp.asarray(self.offset) - jnp.vdot(w, self._drive(w, images)) + jnp.vdot(w, square) / 2

    def _images(self, w: Field) -> Float[Array, "classes *pixels"]:
        return jnp.asarray(self.products(w.reshape(1, -1)))[:, 0].reshape(-1, *w.shape)

    def _drive(self, w: Field, images: Float[Array, "classes *pixels"]) -> Field:
        return sum((drive(w, images[drive.index]) for drive in self.drives), start=jnp.zeros_like(w))


@in_float64
def effective_field(task: Task, amplifier: AmplifierLike = None, *, asker: str = "effective_flow") -> EffectiveField:
    """The effective flow's right-hand side for a ``task`` of centred classes with one label each.

    ``amplifier``: as in :func:`effective_flow`. ``asker``: the function that errors name as the one that was called.
    """
    if not isinstance(task, Task) or task.labels is None:
        raise setting_error(asker, "task", task, "a Task with one label per class")
    for stimulus in task.stimuli:
        _check_centred(asker, stimulus)
    labels, shares = np.asarray(task.labels, float), np.asarray(task.proportions)
    drives = tuple(
        ClassDrive(c, np.asarray(shares[c] * labels[c]), *_shape(asker, stimulus, amplifier))
        for c, stimulus in enumerate(task.stimuli)
        if labels[c] != 0
    )
    return EffectiveField(products(task.stimuli), drives, shares, np.asarray(np.sum(shares * labels**2)))


def _check_centred(asker: str, stimulus: AbstractStimulus) -> None:
    """The flow is derived for sign-symmetric data; data of one's own are so only up to sampling noise."""
    variance = float(np.mean(stimulus.pixel_variances()))
    if not variance > 0:
        raise setting_error(asker, "task", f"a constant {type(stimulus).__name__}", "of classes that vary")
    worst = float(np.max(np.abs(stimulus.mean()))) / math.sqrt(variance)
    if worst > 0.25:
        raise setting_error(
            asker, "task", f"a mean of {worst:.3g} standard deviations", "centred (subtract each pixel's mean)"
        )


def _shape(asker: str, stimulus: AbstractStimulus, amplifier: AmplifierLike) -> tuple[Callable, np.ndarray]:
    """The function phi of a pixel of variance 1, and the pixels' standard deviations."""
    if isinstance(amplifier, Amplifier):
        return amplifier.tabulated().shape, np.asarray(amplifier.scale)
    if callable(amplifier):
        return amplifier, np.asarray(1.0)
    if amplifier is not None and amplifier not in NAMES:
        raise setting_error(asker, "amplifier", amplifier, f"None, a function or one of {', '.join(NAMES)}")
    scale = np.sqrt(stimulus.pixel_variances())
    if amplifier == "linear":
        return Odd((SLOPE,)), scale
    own = without_error(stimulus.standard_marginal())
    return (own.taylor(int(amplifier[-1])) if amplifier else own.tabulated()).shape, scale


@in_float64
def effective_input(
    stimulus: AbstractStimulus, fields: Float[np.ndarray, "n *pixels"], amplifier: AmplifierLike = None
) -> Float[np.ndarray, "n *pixels"]:
    """phi(S w/sqrt(w S w))/2, which Lemma 3.1 of the paper takes for f(w) = E[1(<w,X> >= 0) X].

    ``stimulus``: the centred law of X. ``fields``: the w, (field, *pixels). ``amplifier``: as in
    :func:`effective_flow`.
    """
    field = effective_field(Task([stimulus], [1.0]), amplifier, asker="mean_gated_input")
    return np.asarray(_half_drive(field, jnp.asarray(fields)))


@eqx.filter_jit
def _half_drive(field: EffectiveField, fields: Float[Array, "n *pixels"]) -> Float[Array, "n *pixels"]:
    return jax.vmap(lambda w: field.drives[0](w, field.covariances(w)[0]) / 2)(fields)
