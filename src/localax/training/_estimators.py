"""Estimators of the population loss from a batch; their derivative is the gradient that training follows.

``plain`` is the batch mean. ``antithetic`` adds -x to every x, ``orbit`` every circular shift and both signs, as far
as the stimulus has these symmetries: the average over them is exact and costs one circulant product. An orbit of a few
hundred samples has the gradient error of ten thousand plain ones.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError, refuse_unknown, setting_error
from .._text import readable
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

    __repr__ = readable

    @abc.abstractmethod
    def loss(self, network: AbstractNetwork, criterion: Callable, parameters: Parameters, batch: Batch) -> Array:
        """The estimate, to be differentiated with respect to the **parameters** of the **network**.

        **criterion**: the loss of one sample, a function of (prediction, target). **batch**: samples ``x``, their
        ``target`` and how targets follow when samples are ``changed``.
        """

    @abc.abstractmethod
    def fitted(self, task: Task) -> "AbstractEstimator":
        """This estimator restricted to the symmetries of a **task**; refused where it has none of those needed."""


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
    """The mean over x and -x, for sign-symmetric stimuli; with **insist** for any."""

    insist: bool = eqx.field(static=True, default=False)

    def loss(self, network, criterion, parameters, batch):
        mirrored = batch.changed(-batch.x)
        plain = Plain()
        return (
            plain.loss(network, criterion, parameters, batch) + plain.loss(network, criterion, parameters, mirrored)
        ) / 2

    def fitted(self, task):
        lacking = [stimulus for stimulus in task.stimuli if not stimulus.sign_symmetric]
        if lacking and not self.insist:
            raise _refused(self, "sign-symmetric", sign_symmetry(lacking[0]))
        return self if lacking else Antithetic()


class Orbit(AbstractEstimator):
    """The mean over all circular shifts, and over both signs where the stimulus is sign-symmetric.

    **signs**: (1, -1), or (1,) to leave the signs alone. **insist**: take the shifts and signs asked for whatever
    symmetries the stimulus claims.
    """

    signs: tuple[int, ...] = eqx.field(static=True, default=(1, -1))
    insist: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.signs not in ((1,), (1, -1)):
            raise setting_error(Orbit, "signs", self.signs, "(1,) or (1, -1)")

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
        claimed = self.signs if task.sign_symmetric else (1,)
        lacking = [stimulus for stimulus in task.stimuli if not stimulus.shift_invariant]
        if lacking and not self.insist:
            raise _refused(self, "translation invariant", translation_invariance(lacking[0]))
        return self if self.insist and (lacking or claimed != self.signs) else Orbit(claimed)


def _refused(estimator: AbstractEstimator, symmetry: str, check) -> SettingError:
    name = type(estimator).__name__
    return SettingError(
        f"train: estimator {name.lower()!r} needs {symmetry} stimuli, and the violation measured here is "
        f"{check.value:.3g} +- {check.standard_error:.2g} ({check.meaning}); "
        f"use estimator='plain', or lx.training.{name}(insist=True)"
    )


ESTIMATORS = {"plain": Plain(), "antithetic": Antithetic(), "orbit": Orbit()}


def chosen_estimator(estimator: Any, task: Task) -> AbstractEstimator:
    """The estimator behind a name, restricted to the symmetries of the task."""
    if isinstance(estimator, AbstractEstimator):
        return estimator.fitted(task)
    if not isinstance(estimator, str):
        raise setting_error("train", "estimator", estimator, "a name or an estimator object")
    refuse_unknown("estimator", estimator, ESTIMATORS)
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

    def window(shift):
        return jax.lax.dynamic_slice_in_dim(twice, n - shift, n, axis=-1)

    return jax.vmap(window, out_axes=-2)(jnp.arange(n))


def _shifted_forward(filters):
    return shifted(filters), None


def _shifted_backward(_, cotangent):
    single = jnp.zeros((), cotangent.dtype)
    while (shifts := cotangent.shape[1]) > 1:
        half = shifts // 2
        if shifts % 2:
            single = single + jnp.roll(cotangent[:, -1], 1 - shifts, axis=-1)
        cotangent = cotangent[:, :half] + jnp.roll(cotangent[:, half : 2 * half], -half, axis=-1)
    return (cotangent[:, 0] + single,)


shifted.defvjp(_shifted_forward, _shifted_backward)
