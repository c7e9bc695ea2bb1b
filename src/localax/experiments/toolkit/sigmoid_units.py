"""What the experiments on sigmoid units share: the notes' task, the units' responses, the least loss, a threshold."""

import numpy as np
import scipy

from ...stimuli import NLGP, Task
from .tasks import SIZE, WIDE

NEAR = 0.05
"""Accuracy that may be missing for a network to count as no worse: a tenth of the way from chance to certainty."""


def signed(gain: float) -> Task:
    """Short against long lengthscale with labels -1 and 1, as sigmoid units need."""
    return Task([NLGP(SIZE, lengthscale, gain) for lengthscale in WIDE], [-1, 1])


def responses(x: np.ndarray, fields: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """What erf units (unit, pixel) answer to samples, (sample, unit)."""
    return scipy.special.erf((x @ fields.T + biases) / np.sqrt(2))


def least_loss(share: np.ndarray | float) -> np.ndarray | float:
    """The least squared loss, with labels -1 and 1, that a share of negative biases allows.

    For sign-symmetric data a unit's mean output has the sign of its bias in both classes. With a share p of negative
    biases the mean output is at most 1 - p for the long class and at least -p for the short.
    """
    return (share**2 + (1 - share) ** 2) / 2


def best_accuracy(output: np.ndarray, long: np.ndarray) -> float:
    """Share of samples told right by the best threshold on the output, above which is the long class."""
    order = np.argsort(output)
    told = np.cumsum(~long[order]) + long.sum() - np.cumsum(long[order])
    return float(max(told.max(), long.sum()) / len(output))
