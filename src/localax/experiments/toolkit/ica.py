"""Independent components as the figures need them: with word of whether the fit had converged."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...analysis import ica

Algorithm = Literal["parallel", "deflation"]


@dataclass(frozen=True, eq=False)
class Components:
    """Filters (component, *pixels), and whether the iterations were enough; by deflation FastICA does not tell."""

    filters: np.ndarray
    converged: bool | None


def unmixed(x: np.ndarray, components: int, iterations: int, algorithm: Algorithm = "parallel") -> Components:
    """FastICA for so many iterations. That it has not converged is a result, not a fault: Gaussian data never do."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=".*did not converge")
        filters = ica(x, components, algorithm=algorithm, steps=iterations)
    told = not any("did not converge" in str(warning.message) for warning in caught)
    return Components(filters, told if algorithm == "parallel" else None)
