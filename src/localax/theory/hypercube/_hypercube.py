"""Why f(w) looks at one pixel when the data live on the hypercube {-1, 1}^N (section 3 of the neuron notes).

There the gate 1(<w,x> >= 0) is a Boolean function, and small weights do not count at all once they cannot change its
sign. This file has f for one, two and three bumps, the separation point that tells how many weights count, and the
Walsh expansion of the gate.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._types import Float, Int
from ...spec import finite_array
from ...stimuli import AbstractStimulus, Ising, Support, hypercube_states
from .._float64 import in_float64

Field = Float[np.ndarray, " n"]
MIDDLE = 40
"""Up to this many weights the margin is exact: 2^20 sums of each half, sorted."""
VERTICES = 20
"""Up to this many weights the gate is expanded on all 2^N vertices."""


# Bumps ---------------------------------------------------------------------------------------------------------------


@in_float64
def bump_input(stimulus: AbstractStimulus, pixels: Any, heights: Any) -> Field:
    """f(w) for w with one, two or three non-zero pixels, in closed form; f comes with its pixels flattened.

    ``stimulus``: a sign-symmetric law on the hypercube, such as Ising. ``pixels``: the places of the bumps, on a torus
    counted row by row; ``heights``: w there, one number each, not 0. Eqs. 8 to 12 of the neuron notes with their
    factors: S e_i/2 for one bump or a dominant one, S(e_i + e_j)/4 for two equal ones, and where none of three
    outweighs the others the majority function, (S(e_i + e_j + e_k) - E[x_i x_j x_k X])/4. Negative heights turn the
    sign of their pixel.
    """
    _check_law(stimulus)
    places, size, sign = _checked_bumps(stimulus, pixels, heights)
    rows = sign[:, None] * stimulus.covariance_matrix()[places]
    top, rest = size[0], np.sum(size[1:])
    if len(places) == 1 or top > rest * (1 + 1e-12):
        return rows[0] / 2
    if len(places) == 2:
        return rows.sum(0) / 4
    majority = (rows.sum(0) - np.prod(sign) * _triple(stimulus, places)) / 4
    # On the border the gate is half dominated, half majority.
    return majority if top < rest * (1 - 1e-12) else (rows[0] / 2 + majority) / 2


def _checked_bumps(stimulus: AbstractStimulus, pixels: Any, heights: Any) -> tuple[Int[np.ndarray, " k"], Field, Field]:
    """Places, magnitudes and signs, the largest first."""
    heights = np.atleast_1d(finite_array("bump_input", "heights", heights, "up to three finite numbers")).astype(float)
    places = np.atleast_1d(np.asarray(pixels))
    n = int(np.prod(stimulus.shape))
    if places.dtype.kind not in "iu" or len(np.unique(places % n)) != len(heights) or not 1 <= len(heights) <= 3:
        raise setting_error("bump_input", "pixels", pixels, "one to three different pixels, one per height")
    if np.any(heights == 0):
        raise setting_error("bump_input", "heights", heights, "different from 0")
    order = np.argsort(-np.abs(heights), kind="stable")
    return (places % n)[order], np.abs(heights)[order], np.sign(heights)[order]


def _check_law(stimulus: AbstractStimulus) -> None:
    atoms = stimulus.marginal.atoms()
    if atoms is None or not np.array_equal(atoms[0], [-1.0, 1.0]) or not stimulus.sign_symmetric:
        raise setting_error(
            "hypercube", "stimulus", type(stimulus).__name__, "sign-symmetric on the hypercube, such as Ising"
        )


def _triple(stimulus: AbstractStimulus, places: Int[np.ndarray, "3"]) -> Field:
    """E[x_i x_j x_k X_l] for every l."""
    n, coupling = math.prod(stimulus.shape), stimulus.ising_coupling()
    if coupling is not None:
        return np.array([ising_moment(n, coupling, [*places, l]) for l in range(n)])
    law = known_law(stimulus)
    return (law.probabilities * np.prod(law.states[:, places], axis=1)) @ law.states


def ising_moment(n: int, coupling: float, places: Any) -> float:
    """E of a product of spins of a ring: bonds between paired places count, the short or the long way round."""
    counts = np.bincount(np.asarray(places) % n, minlength=n) % 2
    at = np.flatnonzero(counts)
    if len(at) % 2:
        return 0.0
    t = np.tanh(coupling)
    inside = int(np.sum(at[1::2] - at[::2]))
    return float((t**inside + t ** (n - inside)) / (1 + t**n))


def known_law(stimulus: AbstractStimulus) -> Support:
    """All states and their probabilities, or one line that says there are too many."""
    law = stimulus.support()
    if law is None:
        name = f"{type(stimulus).__name__} of {stimulus.shape} pixels"
        raise setting_error(
            "hypercube",
            "stimulus",
            name,
            "a law of few states: Ising up to 20 spins, pulses, Empirical, or your own with support()",
        )
    return law


# Margins -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Separation:
    """``count`` largest weights (their ``pixels``) decide the gate alone: their least sum, ``margin`` (Eq. 13 of the
    neuron notes), exceeds ``rest``, the sum of all others. ``exact`` is False where it is only a lower bound."""

    count: int
    pixels: Int[np.ndarray, " count"]
    margin: float
    rest: float
    exact: bool


def separation(w: Any) -> Separation:
    """The smallest number of weights that decide 1(<w,x> >= 0) on the whole hypercube.

    ``w``: any weights, at least one, taken flat. Exact up to 40 weights. Beyond, only the relaxed margin is left, which
    is positive for a single dominant weight and otherwise 0 (see :func:`relaxed_margin`), so that all weights count.
    """
    flat = _weights("separation", w)
    order = np.argsort(-np.abs(flat), kind="stable")
    size = np.abs(flat)[order]
    rest = np.append(np.cumsum(size[::-1])[::-1], 0.0)
    for k in range(1, min(len(size), MIDDLE) + 1):
        # If k - 1 weights do not decide and k do, the k-th must exceed all that follow: other k need no sorting.
        delta = margin(size[:k]) if size[k - 1] > rest[k] or k == len(size) else 0.0
        if delta > rest[k] or k == len(size):
            return Separation(k, order[:k], delta, float(rest[k]), True)
    return Separation(len(size), order, relaxed_margin(size), 0.0, False)


def margin(w: Any) -> float:
    """The minimum of ``|<w,x>|`` over x in {-1, 1}^k (Eq. 13 of the neuron notes), exact.

    ``w``: k weights, at most 40. Number partitioning: for every sum of one half, the nearest sum of the other.
    """
    flat = _weights("margin", w)
    if len(flat) > MIDDLE:
        raise setting_error(
            "margin", "w", f"{len(flat)} weights", f"at most {MIDDLE} of them; relaxed_margin bounds it beyond"
        )
    half = len(flat) // 2
    left, right = _sums(flat[:half]), np.sort(_sums(flat[half:]))
    place = np.searchsorted(right, left)
    above = np.abs(right[np.minimum(place, len(right) - 1)] - left)
    below = np.abs(right[np.maximum(place - 1, 0)] - left)
    return float(np.minimum(above, below).min())


def _sums(w: Field) -> Float[np.ndarray, " sums"]:
    """<w,x> for all x, one weight after the other."""
    sums = np.zeros(1)
    for value in w:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def relaxed_margin(w: Any) -> float:
    """A lower bound of the :func:`margin` for any number of weights ``w``: ``max(0, 2 max|w_i| - sum|w_i|)``.

    The square root of min w'Zw over correlation matrices Z, the semidefinite relaxation that the neuron notes ask for.
    By the polygon inequality vectors of lengths ``|w_i|`` can close unless one is longer than all others together: the
    bound says "one weight dominates" and nothing more.
    """
    flat = np.abs(_weights("relaxed_margin", w))
    return float(max(0.0, 2 * flat.max() - flat.sum()))


def _weights(owner: str, w: Any) -> Field:
    array = finite_array(owner, "w", np.asarray(w), "finite numbers, at least one").astype(float).ravel()
    if not array.size:
        raise setting_error(owner, "w", w, "finite numbers, at least one")
    return array


# Walsh expansion -----------------------------------------------------------------------------------------------------


@in_float64
def chow(w: Any) -> Field:
    """E over uniform x of sign(<w,x>) x_j: the first-degree Walsh coefficients of the gate of up to 40 weights ``w``.

    The sum that Eq. 20 of the neuron notes writes for a product is 2^(n-2) S chow(w); f itself is S chow(w)/2 plus
    higher degrees.
    """
    from .._gated_input import mean_gated_input

    flat = _weights("chow", w)
    return 2 * mean_gated_input(Ising(len(flat), 0.0), flat).value


@in_float64
def walsh_input(stimulus: AbstractStimulus, w: Any, *, degree: int) -> Field:
    """f(w) with the Walsh expansion of the gate cut after a ``degree``.

    The sum over sets T of at most so many pixels of the gate's coefficient times E[x_T X], halved; degree N gives f
    itself. ``stimulus``: a sign-symmetric law on the hypercube whose states are all known, of at most 20 pixels.
    ``w``: one weight per pixel.
    """
    flat = _weights("walsh_input", w)
    n = len(flat)
    _check_law(stimulus)
    if n > VERTICES or flat.shape != (int(np.prod(stimulus.shape)),):
        raise setting_error("walsh_input", "w", f"{n} weights", "as many as the stimulus has pixels, at most 20")
    law = known_law(stimulus)
    chance = np.zeros(2**n)
    np.add.at(chance, ((law.states < 0) @ (1 << np.arange(n))).astype(int), law.probabilities)
    sums = hypercube_states(n) @ flat
    gate = np.where(np.abs(sums) <= 1e-12 * np.abs(flat).sum(), 0.0, np.sign(sums))
    coefficients, moments = _walsh(gate) / 2**n, _walsh(chance)
    index = np.arange(2**n)
    coefficients[np.bitwise_count(index) > degree] = 0
    return np.array([np.sum(coefficients * moments[index ^ (1 << j)]) for j in range(n)]) / 2


def _walsh(values: Float[np.ndarray, " states"]) -> Float[np.ndarray, " states"]:
    """sum over x of values(x) x_T for every set T, in place by halves."""
    out, step = values.copy(), 1
    while step < len(out):
        pairs = out.reshape(-1, 2, step)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        step *= 2
    return out
