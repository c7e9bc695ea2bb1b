"""Two pixels in polar coordinates: quadrature for Gaussian and elliptical laws, broken where a gate opens or closes."""

import math
from collections.abc import Callable

import numpy as np
import scipy

from soak.numbers.truth import States

Radii = tuple[np.ndarray, np.ndarray]


def _panels(edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    t, weight = np.polynomial.legendre.leggauss(order)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (centre[:, None] + half[:, None] * t).ravel(), (half[:, None] * weight).ravel()


def _radii(density: Callable, edges: np.ndarray) -> Radii:
    """Radii of mean square 2, so that each of two pixels has variance 1."""
    r, weight = _panels(edges, 30)
    weight = weight * density(r)
    weight = weight / weight.sum()
    return r * math.sqrt(2 / (weight @ r**2)), weight


FAR = np.concatenate([np.linspace(0, 4, 9), np.geomspace(5, 1e6, 60)])
RADII: dict[str, Callable[[], Radii]] = {
    "Gaussian": lambda: _radii(lambda r: r * np.exp(-(r**2) / 2), np.linspace(0, 12, 13)),
    "Surface": lambda: (np.array([math.sqrt(2.0)]), np.array([1.0])),
    "Shell": lambda: _radii(lambda r: np.cosh(r - 2) ** -2.0, np.linspace(2, 32, 31)),
    "Student t(7)": lambda: _radii(lambda r: r * scipy.stats.f.pdf(r**2 / 2, 2, 7), FAR),
}
"""The law of the radius over two pixels, up to its scale; a density 4 e^(2r+4)/(e^(2r)+e^4)^2 is one over cosh^2."""


def states(radii: Radii, correlation: float, fields: np.ndarray) -> States:
    """Nodes and weights for expectations that have kinks where one of ``fields`` (unit, 2) is orthogonal to X."""
    root = np.linalg.cholesky(np.array([[1, correlation], [correlation, 1]]))
    seen = fields @ root
    kinks = np.mod(np.concatenate([np.arctan2(seen[:, 0], -seen[:, 1]) + turn for turn in (0, math.pi)]), 2 * math.pi)
    edges = np.unique(np.concatenate([[0.0], kinks, np.linspace(0, 2 * math.pi, 9)]))
    angle, weight = _panels(edges, 24)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ root.T
    points = (radii[0][:, None, None] * around).reshape(-1, 2)
    return points, np.outer(radii[1], weight / (2 * math.pi)).ravel()
