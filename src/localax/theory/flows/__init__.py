"""Flows: weights over time without sampling: the effective flow, exact ones, and how far to trust them."""

from ._effective import effective_flow, solve_effective
from ._exact import FLOWS, exact_flow
from ._flow import AbstractFlow
from ._gaussian_erf import GaussianErf
from ._gaussian_relu import GaussianReLU
from ._symmetric_relu import SymmetricReLU
from ._validity import GradientError, Lindeberg, PDELimit, effective_gradient_error, lindeberg, pde_limit
from ._vector_field import AmplifierLike, EffectiveField, effective_field, effective_input
from ._window_flow import Order, WindowField, window_field, window_flow

__all__ = [
    "FLOWS",
    "AbstractFlow",
    "AmplifierLike",
    "EffectiveField",
    "GaussianErf",
    "GaussianReLU",
    "GradientError",
    "Lindeberg",
    "Order",
    "PDELimit",
    "SymmetricReLU",
    "WindowField",
    "effective_field",
    "effective_flow",
    "effective_gradient_error",
    "effective_input",
    "exact_flow",
    "lindeberg",
    "pde_limit",
    "solve_effective",
    "window_field",
    "window_flow",
]
