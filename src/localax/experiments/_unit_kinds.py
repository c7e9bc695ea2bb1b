"""Which hidden units are localized and which are waves: the counts that figures of many units share."""

import numpy as np

from ..analysis import dominant_frequency, ipr

CONCENTRATED = 4.0
"""N * IPR from which a field is concentrated: 1 if flat, 3/2 for a wave, 3 for white noise; an IPR of 0.1 at N = 40."""
LOW = 2
"""A field with at most this many cycles round the ring is of low frequency."""


def concentrated(fields: np.ndarray) -> np.ndarray:
    """Which fields (..., pixel) gather their energy in a few pixels."""
    return np.asarray(ipr(fields)) * fields.shape[-1] >= CONCENTRATED


def fast(fields: np.ndarray) -> np.ndarray:
    """Which fields are dominated by a high frequency."""
    return np.asarray(dominant_frequency(fields)) > LOW


def bump(fields: np.ndarray) -> np.ndarray:
    """Which fields are localized: concentrated, and no packet of fast waves."""
    return concentrated(fields) & ~fast(fields)


def slow(fields: np.ndarray) -> np.ndarray:
    """Which fields are waves of low frequency."""
    return ~concentrated(fields) & ~fast(fields)
