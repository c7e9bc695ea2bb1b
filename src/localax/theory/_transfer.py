"""f(w) = E[1(<w,X> >= 0) X] on an Ising ring, exactly or to any tolerance, without sampling.

On sign-symmetric data f = E[X sign(S)]/2 with S = <w,X>. Spins are bounded, |S| <= |w|_1, so on the whole range of S
the sign is a square wave, and the Fourier series of that wave needs nothing but the characteristic function of S, which
is a product of 2x2 matrices:

    f_j = (2/pi) sum_m E[X_j sin(t_m S)]/(2m+1),   E exp(itS) = tr prod_j diag(1, tanh J) Rot(t w_j) / (1 + tanh^N J).

A prefix and a suffix scan give the derivatives with respect to all w_j at once. A series of Q terms is tapered, which
smooths the sign over a width of about |w|_1/Q; there is no other error. Up to 20 spins every state is summed instead,
by meeting in the middle.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._types import Array, Float, Int
from ..stimuli import Ising
from ._joint import hypercube

Field = Float[Array, " n"]

SUMMED = 20
"""Up to this many spins all states are summed."""

_ORDERS = (3, 2)
_REACH = (7.2, 6.7)
_EDGE = 6.0


class AbstractGate(eqx.Module):
    """f(w) of one Ising ring."""

    @abc.abstractmethod
    def __call__(self, w: Field) -> tuple[Field, Float[Array, ""]]:
        """f(w), and an estimate of the largest error of any f_j."""


def ising_gate(stimulus: Ising, tolerance: float) -> AbstractGate:
    """All states where they are few, else as many terms of the series as the tolerance needs."""
    if stimulus.size <= SUMMED:
        return _summed(stimulus)
    return series_gate(stimulus, terms_for(tolerance))


def terms_for(tolerance: float) -> int:
    """Terms for which the error of f is below a tolerance.

    Measured against all 2^40 states at J = 0.3 and 0.7, on random fields and along the flow: error <= 0.03/Q, set by
    the few states of high probability (all spins alike) that happen to have S near 0. It is below 1e-8 at a localized
    field, where no state comes near 0.
    """
    return int(np.clip(np.ceil(0.03 / tolerance / 16) * 16, 32, 2**15))


# The series ----------------------------------------------------------------------------------------------------------


class SeriesGate(AbstractGate):
    """Fourier series of the sign, by transfer matrices."""

    shrink: Float[Array, ""]
    """tanh J."""
    nodes: Float[Array, " terms"]
    """t_m |w|_1."""
    tapers: Float[Array, "tapers terms"]
    """Coefficients of the series under the taper in use, and under a lower one that serves to estimate the error."""

    def __call__(self, w: Field) -> tuple[Field, Float[Array, ""]]:
        best, rough = self._sums(w)
        return best, jnp.max(jnp.abs(best - rough))

    def _sums(self, w: Field) -> Float[Array, "tapers n"]:
        """Both series, from the derivatives of the characteristic function at the nodes."""
        angle = (w / jnp.sum(jnp.abs(w)))[:, None] * self.nodes
        turns = (jnp.cos(angle), jnp.sin(angle))
        one, zero = jnp.ones_like(self.nodes), jnp.zeros_like(self.nodes)
        start = (one, zero, zero, one)
        _, before = jax.lax.scan(lambda p, turn: (self._after(p, turn), p), start, turns)

        def back(after, site):
            turn, prefix = site
            return self._before(after, turn), self.tapers @ self._slope(prefix, turn, after)

        _, sums = jax.lax.scan(back, start, (turns, before), reverse=True)
        return sums.T / (1 + self.shrink ** w.shape[0])

    def _after(self, p, turn):
        """P M for M = diag(1, tanh J) Rot; matrices are their four entries, each over all nodes."""
        c, s = turn
        k = self.shrink
        return p[0] * c + k * p[1] * s, k * p[1] * c - p[0] * s, p[2] * c + k * p[3] * s, k * p[3] * c - p[2] * s

    def _before(self, p, turn):
        """M P."""
        c, s = turn
        k = self.shrink
        return c * p[0] - s * p[2], c * p[1] - s * p[3], k * (s * p[0] + c * p[2]), k * (s * p[1] + c * p[3])

    def _slope(self, p, turn, q):
        """-tr(P dM Q): the rotation's derivative is the rotation by a further right angle."""
        c, s = turn
        turned = self._after(p, (-s, c))
        return -(turned[0] * q[0] + turned[1] * q[2] + turned[2] * q[1] + turned[3] * q[3])


def series_gate(stimulus: Ising, terms: int) -> SeriesGate:
    """The series with its taper: Gamma(m, (e t)^2/2)/Gamma(m), a Gaussian flattened at 0.

    Smoothing by it biases f by O(e^2m) where S has a smooth density, and by nothing where no state comes within a few
    e of 0. The period leaves room for the smoothed jump at its far end.
    """
    odd = 2 * np.arange(terms) + 1
    rows = []
    width = _REACH[0] / (np.pi * odd[-1])
    period = 1 / max(1 - _EDGE * width, 0.5)
    for order, reach in zip(_ORDERS, _REACH, strict=True):
        rows.append(2 / np.pi / odd * special.gammaincc(order, (reach * odd / odd[-1]) ** 2 / 2))
    nodes = odd * np.pi / period
    return SeriesGate(jnp.tanh(jnp.asarray(stimulus.coupling)), jnp.asarray(nodes), jnp.asarray(np.stack(rows)))


# All states ----------------------------------------------------------------------------------------------------------


class Half(eqx.Module):
    """One half of the ring: its states, their weights inside, and their end spins.

    ``ends`` numbers the four pairs of end spins; ``seen[e]`` are the weights as the other half sees them when its own
    ends are the pair e.
    """

    states: Float[Array, "states n"]
    weights: Float[Array, " states"]
    ends: Int[Array, " states"]
    seen: Float[Array, "4 states"]


class SummedGate(AbstractGate):
    """The sum over all 2^N states: for every state of one half, the weight of the states of the other half that make
    S positive less that of those that make it negative, read off a sorted list. Ties count half."""

    left: Half
    right: Half

    def __call__(self, w: Field) -> tuple[Field, Float[Array, ""]]:
        middle = self.left.states.shape[1]
        left, right = self.left.states @ w[:middle], self.right.states @ w[middle:]
        tie = 1e-12 * jnp.sum(jnp.abs(w))
        pulls = _pull(self.left, left, self.right, right, tie), _pull(self.right, right, self.left, left, tie)
        return jnp.concatenate(pulls), jnp.zeros(())


def _pull(own: Half, sums: Field, other: Half, others: Field, tie) -> Field:
    """E[X sign(S)]/2 on the spins of one half."""
    order = jnp.argsort(others)
    below = jnp.concatenate([jnp.zeros((4, 1)), jnp.cumsum(other.seen[:, order], axis=1)], axis=1)
    low = jnp.searchsorted(others[order], -sums - tie)
    high = jnp.searchsorted(others[order], -sums + tie)
    total = below[own.ends, -1]
    balance = total - below[own.ends, high] - below[own.ends, low]
    return (own.weights * balance) @ own.states / (2 * jnp.sum(own.weights * total))


def _half(n: int, coupling: float) -> Half:
    x = hypercube(n)
    inside = np.exp(coupling * np.sum(x[:, :-1] * x[:, 1:], axis=1) - abs(coupling) * (n - 1))
    first, last = (x[:, 0] < 0).astype(int), (x[:, -1] < 0).astype(int)
    pairs = [(1 - 2.0 * a, 1 - 2.0 * b) for a in (0, 1) for b in (0, 1)]
    # The other half's last spin is the neighbour of our first, and its first that of our last.
    seen = [inside * np.exp(coupling * (b * x[:, 0] + a * x[:, -1]) - 2 * abs(coupling)) for a, b in pairs]
    return Half(jnp.asarray(x), jnp.asarray(inside), jnp.asarray(2 * first + last), jnp.asarray(np.stack(seen)))


def _summed(stimulus: Ising) -> SummedGate:
    middle, coupling = stimulus.size // 2, float(stimulus.coupling)
    return SummedGate(_half(middle, coupling), _half(stimulus.size - middle, coupling))
