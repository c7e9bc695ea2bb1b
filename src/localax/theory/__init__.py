"""Theory: what should happen, in float64: the amplifier, the effective and the exact flows, where they end and why."""

from ._amplifier import Amplifier, amplifier, index_sign_change
from ._branches import Branch, SteadyState, continue_branch, steady_state
from ._effective import effective_flow
from ._fixed_points import (
    LocalizedAttractor,
    ModeFixedPoints,
    ising_attractor,
    localized_attractor,
    mode_fixed_points,
    winning_mode,
)
from ._thresholds import critical_gain, critical_k, critical_value, flat_growth_rates, flat_height, flat_is_unstable
from ._validity import GradientError, Lindeberg, PDELimit, effective_gradient_error, lindeberg, pde_limit

__all__ = [
    "Amplifier",
    "Branch",
    "GradientError",
    "Lindeberg",
    "LocalizedAttractor",
    "ModeFixedPoints",
    "PDELimit",
    "SteadyState",
    "amplifier",
    "continue_branch",
    "critical_gain",
    "critical_k",
    "critical_value",
    "effective_flow",
    "effective_gradient_error",
    "flat_growth_rates",
    "flat_height",
    "flat_is_unstable",
    "index_sign_change",
    "ising_attractor",
    "lindeberg",
    "localized_attractor",
    "mode_fixed_points",
    "pde_limit",
    "steady_state",
    "winning_mode",
]
