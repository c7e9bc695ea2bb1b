"""How large a step may be: what is stable follows from the second moments of the data."""

import math
import warnings

import numpy as np

from .._errors import setting_error
from ..networks import AbstractNetwork
from ..stimuli import AbstractStimulus, Task

DENSE = 1024
"""Pixels up to which the eigenvalues of a covariance that is not circulant are computed."""
DEFAULT = 0.1
"""Share of the largest stable rate that is taken where none is given: about the paper's own."""
NEAR = 0.8
"""Share of the largest stable rate from which on a rate is warned of."""


def stable_rate(task: Task, network: AbstractNetwork) -> float | None:
    """The rate beyond which gradient descent on the squared error overshoots; None where no formula is known.

    For a ReLU neuron it is 2 over the largest eigenvalue of the inputs' second moments, for a committee of K of them K
    times that; half of it where inputs are not as likely as their negatives.
    **task**: what is learned. **network**: what learns it.
    """
    scale, top = network.rate_scale(), _largest_eigenvalue(task)
    if scale is None or top is None:
        return None
    return scale * (1.0 if task.sign_symmetric else 0.5) * 2 / top


def _largest_eigenvalue(task: Task) -> float | None:
    """Of the second moments of all classes together."""
    if task.shift_invariant:
        total = sum(p * _spectrum(s) for s, p in zip(task.stimuli, task.proportions, strict=True))
        return float(np.max(total))
    if math.prod(task.shape) > DENSE:
        return None
    dense = sum(p * _second_moments(s) for s, p in zip(task.stimuli, task.proportions, strict=True))
    return float(np.linalg.eigvalsh(dense)[-1])


def _spectrum(stimulus: AbstractStimulus) -> np.ndarray:
    spectrum = np.fft.rfftn(stimulus.covariance()).real
    spectrum.flat[0] += np.sum(stimulus.mean() ** 2)
    return spectrum


def _second_moments(stimulus: AbstractStimulus) -> np.ndarray:
    mean = stimulus.mean().ravel()
    return stimulus.covariance_matrix() + np.outer(mean, mean)


def default_rate(task: Task, network: AbstractNetwork) -> float:
    """What to take where no rate is given, to two digits."""
    stable = stable_rate(task, network)
    if stable is None:
        raise setting_error("train", "rate", None, f"given: no stable rate is known for a {type(network).__name__}")
    return float(f"{DEFAULT * stable:.2g}")


def warn_of_rate(rates: np.ndarray, tasks: list[Task], network: AbstractNetwork, stacklevel: int) -> None:
    """Say so where a rate comes near what is stable."""
    alone = {id(task): task for task in tasks}.values()  # a product of lists has each many times
    stable = [found for task in alone if (found := stable_rate(task, network)) is not None]
    if stable and rates.max() > NEAR * min(stable):
        warnings.warn(
            f"rate {rates.max():g} is near or above {min(stable):.2g}, beyond which gradient descent on these data "
            f"overshoots; {DEFAULT * min(stable):.2g} is a good start",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
