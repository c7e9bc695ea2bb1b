"""The amplifier to third order, right and as the paper's code has it, with numbers that are traced; and its panel.

The theory's own expansion is compiled anew for every law; these are arrays, so one compilation serves all.
"""

import math
from typing import Any

import equinox as eqx
import numpy as np

from ...outcome import Lines
from ...stimuli import AbstractStimulus
from ...theory import Amplifier

SLOPE = np.sqrt(2 / np.pi)
"""The slope of every amplifier at 0."""


class Cubic(eqx.Module):
    """a (first + third a^2)."""

    first: Any
    third: Any

    def __call__(self, a: Any) -> Any:
        return a * (self.first + self.third * a**2)


def taylor(stimulus: AbstractStimulus) -> Cubic:
    """The expansion of Lemma B.1, with its kurtosis to the first power (erratum B-02)."""
    return Cubic(np.asarray(SLOPE), np.asarray(-SLOPE * stimulus.marginal.excess_kurtosis() / 6))


def figure_code(stimulus: AbstractStimulus) -> Cubic:
    """What figure 3 integrates: phi where Eq. 5 has phi/2 (erratum B-05), and no sqrt(2/pi) in the cubic term."""
    return Cubic(np.asarray(2 * SLOPE), np.asarray(-stimulus.marginal.excess_kurtosis() / 3))


def amplifier_panel(phi: Amplifier) -> Lines:
    """phi with its tangent and, where the law has a fourth moment, its expansion to third order."""
    a = np.linspace(0, 0.95 * phi.scale, 60)
    curves = {"phi": np.asarray(phi(a)), "tangent": np.asarray(phi.taylor(1)(a))}
    if math.isfinite(phi.law.fourth):
        curves["Taylor, order 3"] = np.asarray(phi.taylor(3)(a))
    return Lines("amplifier", a, curves, xlabel="a", ylabel="phi(a)")
