"""The shapes this package speaks of, in words; they are checked at run time under pytest only.

``*pixels`` is one axis for a ring and two for a torus.
"""

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped, UInt32

Key = PRNGKeyArray | UInt32[Array, "2"]
Leaf = Shaped[Array, "..."] | Shaped[np.ndarray, "..."]
"""A numeric setting as it is stored: a scalar, or a stack of them where settings are swept."""

Samples = Float[Array, "n *pixels"]
Row = Float[np.ndarray, "*pixels"]
"""The covariance of every pixel with pixel 0."""

__all__ = ["Array", "Float", "Int", "Key", "Leaf", "Row", "Samples", "Shaped"]
