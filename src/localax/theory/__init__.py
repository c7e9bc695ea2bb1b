"""Theory: what should happen, in float64: the amplifier, the flows, where they end and why.

The names used most stand here; the rest is in ``flows``, ``steady``, ``windows``, ``hypercube``, ``gates`` and
``sigmoid``.
"""

from . import flows, gates, hypercube, sigmoid, steady, windows
from ._amplifier import Amplifier, amplifier, index_sign_change
from ._ascent import ascend_objective
from ._batch_noise import noise_exponent, student_batch_noise
from ._dominance import (
    DominanceRow,
    ascend_dominance,
    compare_dominance,
    difference_of_means,
    dominance,
    gabor_candidates,
)
from ._estimate import Estimate
from ._gated_input import mean_gated_input
from ._objective import Objective, gate_objective, objective
from .flows import effective_flow, exact_flow, window_flow
from .steady import critical_gain, critical_k, exact_growth_rates, flat_growth_rates, localized_attractor
from .windows import Choice, Orbits, Windows

__all__ = [
    "Amplifier",
    "Choice",
    "DominanceRow",
    "Estimate",
    "Objective",
    "Orbits",
    "Windows",
    "amplifier",
    "ascend_dominance",
    "ascend_objective",
    "compare_dominance",
    "critical_gain",
    "critical_k",
    "difference_of_means",
    "dominance",
    "effective_flow",
    "exact_flow",
    "exact_growth_rates",
    "flat_growth_rates",
    "flows",
    "gabor_candidates",
    "gate_objective",
    "gates",
    "hypercube",
    "index_sign_change",
    "localized_attractor",
    "mean_gated_input",
    "noise_exponent",
    "objective",
    "sigmoid",
    "steady",
    "student_batch_noise",
    "window_flow",
    "windows",
]
