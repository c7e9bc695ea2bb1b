"""Theory: what should happen, in float64: the amplifier, the flows, where they end and why.

The names used most stand here; the rest is in ``flows``, ``steady``, ``hypercube``, ``gates`` and ``sigmoid``.
"""

from . import flows, gates, hypercube, sigmoid, steady
from ._amplifier import Amplifier, amplifier, index_sign_change
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
from .flows import effective_flow, exact_flow
from .steady import critical_gain, critical_k, exact_growth_rates, flat_growth_rates, localized_attractor

__all__ = [
    "Amplifier",
    "DominanceRow",
    "Estimate",
    "amplifier",
    "ascend_dominance",
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
    "gates",
    "hypercube",
    "index_sign_change",
    "localized_attractor",
    "mean_gated_input",
    "sigmoid",
    "steady",
]
