"""Probability dominance: how often one class drives a filter harder than the other, and ascent on it."""

from ._ascent import ascend_dominance
from ._dominance import DominanceRow, compare_dominance, difference_of_means, dominance, gabor_candidates

__all__ = [
    "DominanceRow",
    "ascend_dominance",
    "compare_dominance",
    "difference_of_means",
    "dominance",
    "gabor_candidates",
]
