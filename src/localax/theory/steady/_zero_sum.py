"""What a flat field sees of a class: the power of waves where the pixels add up to 0, and the mean size of that sum.

With S = sum_i X_i and X_k = sum_j X_j exp(2 pi i jk/N), these are A_k = p_S(0) E(|X_k|^2 | S = 0) and B = E|S|. How
they are found depends on what a law knows of itself: in closed form, by counting states, from the latent field of a
copula, or from samples whose sum is nearly 0.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._math import spectrum
from ..._types import Float
from ...stimuli import AbstractCopula, AbstractStimulus
from .._estimate import batches, draw
from ._latent_mean import Plan, latent_power

Row = Float[np.ndarray, "*pixels"]


@dataclass(frozen=True, eq=False)
class ZeroSum:
    """``power``: A_k, shaped like the pixels. ``size``: B. Their sampling variances and covariances beside them."""

    power: Row
    size: float
    power_variance: Row
    size_variance: float
    covariance: Row


def zero_sum(stimulus: AbstractStimulus, plan: Plan) -> ZeroSum:
    """A and B of a sign-symmetric, shift-invariant law by the best way that it knows."""
    single, factor = stimulus.multiple_of()
    found = _zero_sum(single, plan)
    size, square = abs(factor), factor**2  # A and B are both of degree 1
    return ZeroSum(
        size * found.power, size * found.size, square * found.power_variance,
        square * found.size_variance, square * found.covariance,
    )  # fmt: skip


def _zero_sum(stimulus: AbstractStimulus, plan: Plan) -> ZeroSum:
    if stimulus.elliptical_constant() is not None:
        return _elliptical(stimulus)
    on_lattice = spacing(stimulus) is not None
    if on_lattice and stimulus.ising_coupling() is not None:
        return _ising(stimulus)
    if on_lattice and stimulus.support() is not None:
        return _states(stimulus)
    return _copula(stimulus, plan) if is_smooth_copula(stimulus) else _sampled(stimulus, plan)


def is_smooth_copula(stimulus: AbstractStimulus) -> bool:
    """Whether the latent field can be asked: a copula whose pixels have no atoms."""
    return isinstance(stimulus, AbstractCopula) and stimulus.marginal.atoms() is None


def spacing(stimulus: AbstractStimulus) -> float | None:
    """The distance 2s of neighbouring sums where pixels are +-s; None for other laws."""
    atoms = stimulus.marginal.atoms()
    if atoms is None or np.ptp(np.abs(atoms[0])) > 0:
        return None
    return float(2 * np.abs(atoms[0][0]))


def _exactly(power: Any, size: float) -> ZeroSum:
    return ZeroSum(np.asarray(power), float(size), np.zeros(np.shape(power)), 0.0, np.zeros(np.shape(power)))


# In closed form -------------------------------------------------------------------------------------------------------


def _elliptical(stimulus: AbstractStimulus) -> ZeroSum:
    """f = (C/2) S w/sqrt(w'Sw), so that A_k = N l_k C/(2 sd S) and B = C sd S."""
    modes, constant = spectrum(stimulus.covariance()), stimulus.elliptical_constant()
    assert constant is not None
    deviation = math.sqrt(modes.size * modes.flat[0])
    return _exactly(modes.size * modes * constant / (2 * deviation), constant * deviation)


# Pixels +-s: P(S = 0)/(2s) stands for the density -----------------------------------------------------------------


def _states(stimulus: AbstractStimulus) -> ZeroSum:
    law, step = stimulus.support(), spacing(stimulus)
    assert law is not None
    assert step is not None
    total = law.states.sum(1)
    axes = tuple(range(1, 1 + len(stimulus.shape)))
    power = np.abs(np.fft.fftn(law.states.reshape(-1, *stimulus.shape), axes=axes)) ** 2
    here = law.probabilities * (np.abs(total) < 1e-9 * step)
    return _exactly(np.tensordot(here, power, 1) / step, float(law.probabilities @ np.abs(total)))


def _ising(stimulus: AbstractStimulus) -> ZeroSum:
    """E[X_0 X_j | S = 0] P(S = 0) is the mean of E[X_0 X_j exp(itS)] over the angles."""
    powers, chances = _turned(stimulus)
    n, flip = len(powers) - 1, np.array([1.0, -1.0])
    pairs = np.stack([np.einsum("tij,j,tji,i->t", powers[j], flip, powers[n - j], flip) for j in range(n)])
    row = np.mean(pairs, axis=1).real / _whole(stimulus) if n % 2 == 0 else np.zeros(n)
    return _exactly(n * spectrum(row) / 2, float(chances @ np.abs(np.arange(-n, n + 1, 2))))


def _turned(stimulus: AbstractStimulus) -> tuple[list[np.ndarray], np.ndarray]:
    """Powers of the transfer matrix at N + 1 angles, and the chances of the sums -N, -N + 2, ..., N that follow.

    M = T diag(e^it, e^-it), T = [[e^J, e^-J], [e^-J, e^J]]/(2 cosh J); tr M^N is E exp(itS) up to a constant.
    """
    n, coupling = math.prod(stimulus.shape), stimulus.ising_coupling()
    assert coupling is not None
    angle = np.pi * np.arange(n + 1) / (n + 1)
    turn = np.exp(1j * angle)[:, None] ** np.array([1, -1])
    strength = np.exp(-2 * abs(coupling))
    bond = np.where(np.eye(2) == (coupling > 0), 1, strength) / (1 + strength)
    matrix = bond * turn[:, None, :]
    powers = [np.broadcast_to(np.eye(2, dtype=complex), matrix.shape)]
    for _ in range(n):
        powers.append(powers[-1] @ matrix)
    characteristic = np.trace(powers[n], axis1=1, axis2=2) / _whole(stimulus)
    sums = np.arange(-n, n + 1, 2)
    return powers, (characteristic @ np.exp(-1j * np.outer(angle, sums))).real / (n + 1)


def _whole(stimulus: AbstractStimulus) -> float:
    """tr T^N = 1 + tanh^N J, which keeps its digits where an odd ring of strong couplings below 0 makes it small."""
    coupling, n = stimulus.ising_coupling(), math.prod(stimulus.shape)
    assert coupling is not None
    if coupling < -1 and n % 2:
        odds = math.exp(2 * coupling)
        return -math.expm1(n * (math.log1p(-odds) - math.log1p(odds)))
    return 1 + math.tanh(coupling) ** n


def sum_law(stimulus: AbstractStimulus) -> tuple[np.ndarray, np.ndarray] | None:
    """Values and chances of the sum of all pixels, for an Ising ring and for laws of few states; else None."""
    if stimulus.ising_coupling() is not None:
        chances = _turned(stimulus)[1]
        return np.arange(1 - len(chances), len(chances), 2.0), chances
    law = stimulus.support()
    return None if law is None else (law.states.sum(1), law.probabilities)


# From samples ---------------------------------------------------------------------------------------------------------

EXPONENT = -1 / 13
"""Of the number of samples in the width of the window, which balances its bias (width^6) against its noise."""


def window(u: Any) -> Any:
    """A kernel of order 6: (15 - 10 u^2 + u^4)/8 times the normal density."""
    return (15 - 10 * u**2 + u**4) / 8 * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def _sampled(stimulus: AbstractStimulus, plan: Plan) -> ZeroSum:
    """Means of |X_k|^2 K_h(S) and |S|; for pixels +-s the share of sums that are 0, over their spacing."""
    modes, step, samples = spectrum(stimulus.covariance()), spacing(stimulus), plan.samples
    width = math.sqrt(modes.size * modes.flat[0]) * samples**EXPONENT
    total, square, cross, size, size_square = (np.zeros(stimulus.shape) for _ in range(5))
    axes = tuple(range(1, 1 + len(stimulus.shape)))
    for index, n in batches(samples, modes.size):
        x = np.asarray(draw(stimulus, plan.seed, plan.stream, index, n)).reshape(n, *stimulus.shape)
        s = x.sum(axes)
        near = window(s / width) / width if step is None else (np.abs(s) < 1e-6 * step) / step
        terms = np.abs(np.fft.fftn(x, axes=axes)) ** 2 * near.reshape(-1, *(1,) * len(axes))
        total, square, cross = (
            total + terms.sum(0),
            square + (terms**2).sum(0),
            cross + np.tensordot(np.abs(s), terms, 1),
        )
        size, size_square = size + np.abs(s).sum(), size_square + (s**2).sum()
    power, size = total / samples, float(size.flat[0]) / samples
    bias = 0.0 if step is not None else 0.3125 * samples ** (6 * EXPONENT)
    return ZeroSum(
        power, size, (square / samples - power**2) / samples + (bias * power) ** 2,
        (float(size_square.flat[0]) / samples - size**2) / samples, (cross / samples - power * size) / samples,
    )  # fmt: skip


def _copula(stimulus: Any, plan: Plan) -> ZeroSum:
    power, size = latent_power(stimulus, plan)
    return ZeroSum(power.mean, float(size.mean), power.variance, float(size.variance), power.covariance)
