"""Theory: what should happen, in float64: the amplifier, the effective and the exact flows, where they end and why."""

from ._amplifier import Amplifier, amplifier, index_sign_change
from ._ascent import ascend_dominance
from ._branches import Branch, SteadyState, continue_branch, steady_state
from ._dominance import DominanceRow, compare_dominance, difference_of_means, dominance, gabor_candidates
from ._effective import effective_flow
from ._erf import GaussianErf
from ._estimate import Estimate
from ._exact import FLOWS, exact_flow
from ._fixed_points import (
    LocalizedAttractor,
    ModeFixedPoints,
    ising_attractor,
    localized_attractor,
    mode_fixed_points,
    winning_mode,
)
from ._flow import AbstractFlow
from ._gated_input import mean_gated_input
from ._gated_linear import (
    GatedMoments,
    gated_linear_flow,
    gated_moments,
    halfspace_pair,
    input_output_covariance,
    redundant_path,
)
from ._gaussian_relu import GaussianReLU
from ._hypercube import Separation, bump_input, chow, margin, relaxed_margin, separation, walsh_input
from ._ising import IsingReLU
from ._joint import Support, elliptical_constant, support
from ._race import Racer, gate_families, race
from ._sigmoid import (
    Population,
    Specialisation,
    bias_flow,
    bias_response,
    convolutional_output,
    frequency_specialisation,
    initial_push,
    population_output,
)
from ._starting_loss import starting_loss
from ._thresholds import critical_gain, critical_k, critical_value, flat_growth_rates, flat_height, flat_is_unstable
from ._validity import GradientError, Lindeberg, PDELimit, effective_gradient_error, lindeberg, pde_limit

__all__ = [
    "FLOWS",
    "AbstractFlow",
    "Amplifier",
    "Branch",
    "DominanceRow",
    "Estimate",
    "GatedMoments",
    "GaussianErf",
    "GaussianReLU",
    "GradientError",
    "IsingReLU",
    "Lindeberg",
    "LocalizedAttractor",
    "ModeFixedPoints",
    "PDELimit",
    "Population",
    "Racer",
    "Separation",
    "Specialisation",
    "SteadyState",
    "Support",
    "amplifier",
    "ascend_dominance",
    "bias_flow",
    "bias_response",
    "bump_input",
    "chow",
    "compare_dominance",
    "continue_branch",
    "convolutional_output",
    "critical_gain",
    "critical_k",
    "critical_value",
    "difference_of_means",
    "dominance",
    "effective_flow",
    "effective_gradient_error",
    "elliptical_constant",
    "exact_flow",
    "flat_growth_rates",
    "flat_height",
    "flat_is_unstable",
    "frequency_specialisation",
    "gabor_candidates",
    "gate_families",
    "gated_linear_flow",
    "gated_moments",
    "halfspace_pair",
    "index_sign_change",
    "initial_push",
    "input_output_covariance",
    "ising_attractor",
    "lindeberg",
    "localized_attractor",
    "margin",
    "mean_gated_input",
    "mode_fixed_points",
    "pde_limit",
    "population_output",
    "race",
    "redundant_path",
    "relaxed_margin",
    "separation",
    "starting_loss",
    "steady_state",
    "support",
    "walsh_input",
    "winning_mode",
]
