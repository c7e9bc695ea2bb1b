"""Where flows rest: localized attractors, waves, branches of steady states, and when the flat field gives way."""

from ._branches import Branch, SteadyState, continue_branch, steady_state
from ._cumulants import edgeworth_growth_rates, summed_cumulant
from ._exact_rates import exact_critical_value, exact_flat_height, exact_growth_rates, growth_quotient
from ._fixed_points import (
    LocalizedAttractor,
    ModeFixedPoints,
    ising_attractor,
    localized_attractor,
    mode_fixed_points,
    winning_mode,
)
from ._gate_attractors import GateAttractor, gate_attractor, gate_attractors, gate_doubt, settled_gate
from ._normal_form import NormalForm, normal_form
from ._spread_state import SpreadState, spread_state
from ._thresholds import (
    critical_excess_kurtosis,
    critical_gain,
    critical_k,
    critical_value,
    flat_growth_rates,
    flat_height,
    flat_is_unstable,
)
from ._window_rates import window_growth_rates

__all__ = [
    "Branch",
    "GateAttractor",
    "LocalizedAttractor",
    "ModeFixedPoints",
    "NormalForm",
    "SpreadState",
    "SteadyState",
    "continue_branch",
    "critical_excess_kurtosis",
    "critical_gain",
    "critical_k",
    "critical_value",
    "edgeworth_growth_rates",
    "exact_critical_value",
    "exact_flat_height",
    "exact_growth_rates",
    "flat_growth_rates",
    "flat_height",
    "flat_is_unstable",
    "gate_attractor",
    "gate_attractors",
    "gate_doubt",
    "growth_quotient",
    "ising_attractor",
    "localized_attractor",
    "mode_fixed_points",
    "normal_form",
    "settled_gate",
    "spread_state",
    "steady_state",
    "summed_cumulant",
    "window_growth_rates",
    "winning_mode",
]
