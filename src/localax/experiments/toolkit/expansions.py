"""The amplifier in full and to third order, right and as the paper's code has it, as arrays of one form; and its panel.

A flow is compiled anew for every form of amplifier, which takes longer than to follow it; these share one compilation.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ...outcome import Lines
from ...stimuli import AbstractStimulus
from ...theory import Amplifier, amplifier

SLOPE = np.sqrt(2 / np.pi)
"""The slope of every amplifier at 0."""
PIECES = 20_000
"""Straight pieces of a curve: in all of phi they leave an error of 2e-9."""


class Curve(eqx.Module):
    """An odd function on [-1, 1] by its values at sin(q pi/2), q even from 0 to 1, with straight pieces between."""

    values: Any

    def __call__(self, a: Any) -> Any:
        values = jnp.asarray(self.values)
        place = jnp.arcsin(jnp.minimum(jnp.abs(a), 1.0)) * (2 / jnp.pi) * (values.shape[0] - 1)
        i = jnp.minimum(place.astype(jnp.int32), values.shape[0] - 2)
        return jnp.sign(a) * (values[i] + (place - i) * (values[i + 1] - values[i]))


def curve(phi: Callable[[np.ndarray], Any]) -> Curve:
    """A function of arrays on [0, 1] in this form."""
    return Curve(np.asarray(phi(np.sin(np.linspace(0, np.pi / 2, PIECES + 1))), float))


def at(phi: Curve, a: np.ndarray) -> np.ndarray:
    """What a curve is at some places, without compiling anything for their number."""
    q = np.arcsin(np.minimum(np.abs(a), 1.0)) * 2 / np.pi
    return np.sign(a) * np.interp(q, np.linspace(0, 1, len(phi.values)), phi.values)


def crossing(phi: Curve) -> float | None:
    """The least a in (0, 1) at which a curve crosses its tangent, to a straight piece; None where it does not."""
    a = np.sin(np.linspace(0, np.pi / 2, len(phi.values)))
    side = np.sign(np.where(np.abs(gap := phi.values - SLOPE * a) < 1e-9, 0, gap))
    seen = np.flatnonzero(side)
    turns = np.flatnonzero(np.diff(side[seen]))
    return float(a[seen[turns[0] + 1]]) if turns.size else None


def full(stimulus: AbstractStimulus) -> Curve:
    """phi itself, Eq. 6: the preactivation Gaussian given one pixel."""
    return curve(amplifier(stimulus).tabulated())


def linear() -> Curve:
    """The amplifier of Gaussian equivalence, the same for all laws: the preactivation Gaussian as such."""
    return curve(lambda a: SLOPE * a)


def taylor(stimulus: AbstractStimulus) -> Curve:
    """The expansion of Lemma B.1, with its kurtosis to the first power (erratum B-02)."""
    excess = stimulus.marginal.excess_kurtosis()
    return curve(lambda a: SLOPE * (a - excess / 6 * a**3))


def figure_code(stimulus: AbstractStimulus) -> Curve:
    """What figure 3 integrates: phi where Eq. 5 has phi/2 (erratum B-05), and no sqrt(2/pi) in the cubic term."""
    excess = stimulus.marginal.excess_kurtosis()
    return curve(lambda a: 2 * SLOPE * a - excess / 3 * a**3)


def amplifier_panel(phi: Amplifier) -> Lines:
    """phi with its tangent and, where the law has a fourth moment, its expansion to third order."""
    a = np.linspace(0, 0.95 * phi.scale, 60)
    curves = {"phi": np.asarray(phi(a)), "tangent": np.asarray(phi.taylor(1)(a))}
    if math.isfinite(phi.law.fourth):
        curves["Taylor, order 3"] = np.asarray(phi.taylor(3)(a))
    return Lines("amplifier", a, curves, xlabel="a", ylabel="phi(a)")
