"""Gated linear networks: their moments, their closed-form paths, and the race of gates."""

from ._gated_linear import (
    GatedMoments,
    gated_linear_flow,
    gated_moments,
    halfspace_pair,
    input_output_covariance,
    redundant_path,
)
from ._race import Racer, gate_families, race

__all__ = [
    "GatedMoments",
    "Racer",
    "gate_families",
    "gated_linear_flow",
    "gated_moments",
    "halfspace_pair",
    "input_output_covariance",
    "race",
    "redundant_path",
]
