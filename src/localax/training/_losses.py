"""Losses: functions of prediction and target, averaged over samples by the loop.

Several outputs come on the leading axis, with the target one-hot on the same axis.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from .._settings import wrong


def mse(prediction, target):
    """Squared error, without a factor 1/2."""
    return (prediction - target) ** 2


def cross_entropy(prediction, target):
    """Softmax cross-entropy over the leading axis."""
    return -jnp.sum(target * jax.nn.log_softmax(prediction, axis=0), axis=0)


def l1(prediction, target):
    """Absolute error."""
    return jnp.abs(prediction - target)


LOSSES: dict[str, Callable] = {"mse": mse, "cross-entropy": cross_entropy, "l1": l1}


def chosen_loss(loss: str | Callable, outputs: int) -> Callable:
    """The loss behind a name; any callable stands for itself."""
    if loss == "cross-entropy" and outputs < 2:
        raise wrong("train", "loss", loss, "used with a network of two or more outputs, e.g. TwoLayer(classes=2)")
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise wrong("train", "loss", loss, f"one of {', '.join(LOSSES)}, or a function of (prediction, target)")
    return LOSSES[loss]
