"""Estimators of the population loss from a batch; their derivative is the gradient that training follows.

``plain`` is the batch mean. ``antithetic`` adds -x to every x, ``orbit`` every circular shift and both signs, as far
as the stimulus has these symmetries: the average over them is exact and costs one circulant product. An orbit of a few
hundred samples has the gradient error of ten thousand plain ones.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import wrong
from .._types import Array, Float
from ..networks import AbstractNetwork, Parameters, respond
from ..stimuli import Task, sign_symmetry, translation_invariance

CIRCULANT = 256
"""Up to this many pixels a gathered circulant product beats the FFT."""


class Batch(eqx.Module):
    """Samples, their targets, and how targets follow when x changes (None: they stay)."""

    x: Float[Array, "n *pixels"]
    target: Float[Array, "*outputs n"]
    retarget: Callable | None = eqx.field(static=True)

    def changed(self, x: Float[Array, "n *pixels"]) -> "Batch":
        """The batch with other samples of the same classes."""
        return Batch(x, self.target if self.retarget is None else self.retarget(x), self.retarget)


class AbstractEstimator(eqx.Module):
    """From a batch to an estimate of the loss."""

    @abc.abstractmethod
    def loss(self, network: AbstractNetwork, criterion: Callable, parameters: Parameters, batch: Batch) -> Array:
        """The estimate, to be differentiated with respect to the parameters."""

    @abc.abstractmethod
    def fitted(self, task: Task) -> "AbstractEstimator":
        """This estimator restricted to the symmetries of a task; refused where it has none of those needed."""


class Plain(AbstractEstimator):
    """The mean over the batch."""

    def loss(self, network, criterion, parameters, batch):
        responses = respond(network.filters(parameters), batch.x)
        error = criterion(network.output(parameters, responses), batch.target)
        return jnp.mean(error) + network.penalty(parameters, responses)

    def fitted(self, task):
        del task
        return self


class Antithetic(AbstractEstimator):
    """The mean over x and -x, for sign-symmetric stimuli."""

    def loss(self, network, criterion, parameters, batch):
        mirrored = batch.changed(-batch.x)
        plain = Plain()
        return (
            plain.loss(network, criterion, parameters, batch) + plain.loss(network, criterion, parameters, mirrored)
        ) / 2

    def fitted(self, task):
        for stimulus in task.stimuli:
            if not stimulus.sign_symmetric:
                raise _refused("antithetic", "sign-symmetric", sign_symmetry(stimulus))
        return self


class Orbit(AbstractEstimator):
    """The mean over all circular shifts, and over both signs where the stimulus is sign-symmetric."""

    signs: tuple[int, ...] = eqx.field(static=True, default=(1, -1))

    def loss(self, network, criterion, parameters, batch):
        if network.reconstructs or batch.retarget is not None:
            return self._explicit(network, criterion, parameters, batch)
        responses = all_shifts(network.filters(parameters), batch.x)
        target = jnp.expand_dims(batch.target, -2)
        total = jnp.zeros((), batch.x.dtype)
        for sign in self.signs:
            error = criterion(network.output(parameters, sign * responses), target)
            total += jnp.mean(error) + network.penalty(parameters, sign * responses)
        return total / len(self.signs)

    def _explicit(self, network, criterion, parameters, batch):
        """One shift after the other, for targets that move with x."""
        shape = batch.x.shape[1:]
        shifts = jnp.asarray(np.indices(shape).reshape(len(shape), -1).T)
        axes = tuple(range(1, batch.x.ndim))

        def at(total, shift):
            moved = batch.changed(jnp.roll(batch.x, shift, axis=axes))
            views = [moved if sign == 1 else batch.changed(sign * moved.x) for sign in self.signs]
            return total + sum(Plain().loss(network, criterion, parameters, view) for view in views), None

        total, _ = jax.lax.scan(at, jnp.zeros((), batch.x.dtype), shifts)
        return total / (len(shifts) * len(self.signs))

    def fitted(self, task):
        for stimulus in task.stimuli:
            if not stimulus.shift_invariant:
                raise _refused("orbit", "translation invariant", translation_invariance(stimulus))
        return Orbit((1, -1) if task.sign_symmetric else (1,))


def _refused(name: str, symmetry: str, check) -> ValueError:
    return ValueError(
        f"train: estimator {name!r} needs {symmetry} stimuli, and the violation measured here is "
        f"{check.value:.3g} +- {check.standard_error:.2g} ({check.meaning}); use estimator='plain'"
    )


ESTIMATORS = {"plain": Plain(), "antithetic": Antithetic(), "orbit": Orbit()}


def chosen_estimator(estimator: str | AbstractEstimator, task: Task) -> AbstractEstimator:
    """The estimator behind a name, restricted to the symmetries of the task."""
    if isinstance(estimator, AbstractEstimator):
        return estimator.fitted(task)
    if estimator not in ESTIMATORS:
        raise wrong("train", "estimator", estimator, f"one of {', '.join(ESTIMATORS)}, or an estimator object")
    return ESTIMATORS[estimator].fitted(task)


# Responses to all shifts ---------------------------------------------------------------------------------------------


def all_shifts(
    filters: Float[Array, "filters *pixels"], x: Float[Array, "n *pixels"]
) -> Float[Array, "filters shifts n"]:
    """Inner products of every filter with every circular shift of every sample."""
    if filters.ndim == 2 and filters.shape[-1] <= CIRCULANT:
        return jnp.einsum("fsp,np->fsn", shifted(filters), x)
    axes = tuple(range(-(filters.ndim - 1), 0))
    shape = filters.shape[1:]
    product = jnp.conj(jnp.fft.rfftn(filters, axes=axes))[:, None] * jnp.fft.rfftn(x, axes=axes)[None]
    responses = jnp.fft.irfftn(product, s=shape, axes=axes)
    return jnp.moveaxis(responses.reshape(filters.shape[0], x.shape[0], -1), 1, 2)


@jax.custom_vjp
def shifted(filters: Float[Array, "filters pixels"]) -> Float[Array, "filters pixels pixels"]:
    """Every circular shift of every filter: entry (f, s, p) is filter f at pixel p - s.

    Windows of two periods, and a derivative rule that adds shifts up by halves: the gather and scatter of single
    numbers that JAX would use take several times as long.
    """
    n = filters.shape[-1]
    twice = jnp.concatenate([filters, filters], axis=-1)
    window = lambda shift: jax.lax.dynamic_slice_in_dim(twice, n - shift, n, axis=-1)  # noqa: E731
    return jax.vmap(window, out_axes=-2)(jnp.arange(n))


def _shifted_forward(filters):
    return shifted(filters), None


def _shifted_backward(_, cotangent):
    back = lambda c, shift: jnp.roll(c, -shift, axis=-1)  # noqa: E731
    single = jnp.zeros((), cotangent.dtype)
    while (shifts := cotangent.shape[1]) > 1:
        half = shifts // 2
        if shifts % 2:
            single = single + back(cotangent[:, -1], shifts - 1)
        cotangent = cotangent[:, :half] + back(cotangent[:, half : 2 * half], half)
    return (cotangent[:, 0] + single,)


shifted.defvjp(_shifted_forward, _shifted_backward)
