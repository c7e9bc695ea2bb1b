"""What the experiments on sigmoid units share: the notes' task with labels -1 and 1, and the best threshold."""

from collections.abc import Sequence

import numpy as np

from ..stimuli import NLGP, Task
from ._tasks import SIZE, WIDE


def signed(gain: float, lengthscales: Sequence[float] = WIDE, size: int = SIZE) -> Task:
    """Short against long lengthscale with labels -1 and 1, as sigmoid units need."""
    return Task([NLGP(size, lengthscale, gain) for lengthscale in lengthscales], [-1, 1])


def best_accuracy(output: np.ndarray, long: np.ndarray) -> float:
    """Share of samples told right by the best threshold on the output, above which is the long class."""
    order = np.argsort(output)
    told = np.cumsum(~long[order]) + long.sum() - np.cumsum(long[order])
    return float(max(told.max(), long.sum()) / len(output))
