"""Which hidden units are localized and which are slow or fast waves: the counts that figures of many units share.

Localized is what `localax.analysis.localized` says, everywhere. Only what is not localized is asked for its frequency:
a bump of one pixel has all of them alike, so that the largest is chance.
"""

import numpy as np

from ...analysis import dominant_frequency, localized

LOW = 2
"""A field with at most this many cycles round the ring is of low frequency."""


def slow(fields: np.ndarray) -> np.ndarray:
    """Which fields are no bumps, and dominated by a low frequency."""
    return ~localized(fields) & (dominant_frequency(fields) <= LOW)


def fast(fields: np.ndarray) -> np.ndarray:
    """Which fields are no bumps, and dominated by a high frequency."""
    return ~localized(fields) & (dominant_frequency(fields) > LOW)
