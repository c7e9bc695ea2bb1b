"""Losses: functions of prediction and target, averaged over samples by the loop.

Several outputs come on the leading axis, with the target one-hot on the same axis.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._errors import setting_error, unknown


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


def chosen_loss(loss: Any, outputs: int) -> Callable:
    """The loss behind a name; any callable stands for itself."""
    if not callable(loss) and not isinstance(loss, str):
        raise setting_error("train", "loss", loss, "a name or a function of (prediction, target)")
    if not callable(loss) and loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    criterion = loss if callable(loss) else LOSSES[loss]
    if criterion is cross_entropy and outputs < 2:
        expected = "used with a network of two or more outputs, e.g. TwoLayer(classes=2)"
        raise setting_error("train", "loss", "cross-entropy", expected)
    return criterion
