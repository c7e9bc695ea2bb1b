"""Data on the corners of a cube: bumps, margins and the Walsh expansion of a gate."""

from ._hypercube import Separation, bump_input, chow, margin, relaxed_margin, separation, walsh_input

__all__ = [
    "Separation",
    "bump_input",
    "chow",
    "margin",
    "relaxed_margin",
    "separation",
    "walsh_input",
]
