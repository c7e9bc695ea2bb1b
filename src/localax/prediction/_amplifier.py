"""The amplifier of a pixel of the data, with the band that so many samples leave open."""

import math
from dataclasses import dataclass

import numpy as np

from .._types import Float
from ..stimuli import Empirical
from ..theory import amplifier
from ._classes import Classes

MOST = 40_000
"""Numbers that it is made from; more would narrow a band that is narrow enough."""
LAST = 0.99
"""The largest correlation at which it is shown: at 1 it has no slope."""
POINTS, AREA = 34, 48
"""Correlations at which it is shown, and nodes by which areas are taken."""
SLOPE = math.sqrt(2 / math.pi)
"""Of its tangent at 0, whatever the law."""


@dataclass(frozen=True, eq=False)
class Band:
    """The amplifier phi of a pixel of variance 1, estimated.

    ``correlation``: of the pixel with the preactivation. ``value``, ``error``: phi there, with its standard error.
    ``index``, ``index_error``: the area between phi and its tangent at 0, as a share of that below the tangent.
    """

    correlation: Float[np.ndarray, " points"]
    value: Float[np.ndarray, " points"]
    error: Float[np.ndarray, " points"]
    index: float
    index_error: float

    @property
    def tangent(self) -> Float[np.ndarray, " points"]:
        return SLOPE * self.correlation


def band(classes: Classes) -> Band:
    """The amplifier of class 1, all pixels in units of their own standard deviation."""
    x = classes.most(MOST).one
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-6)
    found = amplifier(Empirical(x))
    nodes, weight = np.polynomial.legendre.leggauss(AREA)
    angle = np.pi / 4 * (1 + nodes)  # r = sin(angle), in which phi is smooth up to its end
    shown = np.linspace(0, LAST, POINTS)
    r = np.concatenate([shown, np.sin(angle)])
    t = r / np.sqrt(np.maximum(1 - r**2, 1e-15))
    curves = np.array([law.amplify(t)[0] for law in (found.law, *found.groups)])
    areas = curves[:, POINTS:] @ (weight * np.pi / 4 * np.cos(angle)) / (SLOPE / 2) - 1
    errors = _jackknife(curves[1:, :POINTS])
    return Band(shown, curves[0, :POINTS], errors, float(areas[0]), float(_jackknife(areas[1:])))


def _jackknife(left_out: Float[np.ndarray, "n *any"]) -> np.ndarray:
    """The standard error of what was found with one group of samples left out after the other."""
    return np.sqrt((len(left_out) - 1) * np.var(left_out, axis=0))
