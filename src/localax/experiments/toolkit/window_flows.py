"""The window flow beside Eq. 5, with windows that suit the figures' tasks."""

from collections.abc import Sequence

import numpy as np

from ... import theory
from ...stimuli import NLGP, Kur, Task
from ...trajectory import Trajectory

SPINS = (2, 2, 2, 2)
NEAR, APART = (32, 16), (32, 16, 8)
"""Levels of windows whose pixels are neighbours, and of those whose pixels are a lengthscale apart."""


def window_flow(task: Task, start: np.ndarray, times: Sequence[float] | np.ndarray) -> Trajectory:
    """The flow of a lengthscale task from ``start`` (seed, pixel), recorded at ``times``.

    What ``theory.Windows.choose`` takes for spins and for smooth laws, without measuring it again: signs of four spins;
    else fine levels of pixels a lengthscale apart, where neighbours would tell the same thing twice.
    """
    law = task.stimuli[1]
    if law.ising_coupling() is not None:
        return theory.window_flow(task, start, times=times, order=theory.Windows(law, SPINS))
    assert isinstance(law, NLGP | Kur)
    stride = max(round(float(law.lengthscale)), 1)
    windows = theory.Windows(law, NEAR if stride == 1 else APART, stride)
    return theory.window_flow(task, start, times=times, order=windows)
