"""f(w) = E[1(<w,X> >= 0) X] on an Ising ring, exactly or to any tolerance, without sampling.

On sign-symmetric data f = E[X sign(S)]/2 with S = <w,X>. Spins are bounded, |S| <= |w|_1, so on the whole range of S
the sign is a square wave, and the Fourier series of that wave needs nothing but the characteristic function of S, which
is a product of 2x2 matrices:

    f_j = (2/pi) sum_m E[X_j sin(t_m S)]/(2m+1),   E exp(itS) = tr prod_j diag(1, tanh J) Rot(t w_j) / (1 + tanh^N J).

A prefix and a suffix scan give the derivatives with respect to all w_j at once. A series of Q terms is tapered, which
smooths the sign over a width of about |w|_1/Q; there is no other error. Up to 24 spins every state is summed instead,
by meeting in the middle.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from .._types import Array, Float, Int
from ..stimuli import hypercube_states

Field = Float[Array, " n"]

SUMMED = 24
"""Up to this many spins all states are summed: 2^12 of each half."""

TERMS = 4096
"""The longest series that a tolerance can ask for."""

FRUSTRATED = -10.0
"""An odd ring has one unequal bond at least. Stronger couplings than this have it in all but N^2 e^-40 of their states,
and the law is the same; but its weight 1 + tanh^N J, by which the series is divided, would be rounding."""

_ORDER, _REACH, _EDGE = 3, 7.2, 6.0


class AbstractGate(eqx.Module):
    """f(w) of one class."""

    @abc.abstractmethod
    def __call__(self, w: Field) -> tuple[Field, Float[Array, ""]]:
        """f(w), and an estimate of the largest error of any f_j."""


def ising_gate(size: int, coupling: float, tolerance: float) -> AbstractGate:
    """All states where they are few, else as many terms of the series as the tolerance needs."""
    if size <= SUMMED:
        return SummedGate(_half(size // 2, coupling), _half(size - size // 2, coupling))
    coupling = max(coupling, FRUSTRATED) if size % 2 else coupling
    return series_gate(math.tanh(coupling), terms_for(size, coupling, tolerance))


def series_error(size: int, coupling: float, terms: Int[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """The error of f to be expected from a series of so many terms: the largest over a few dozen fields.

    Two parts, both measured against the sum over all states for 25 to 40 spins and J from 0.3 to 1: a smooth one that
    falls like Q^-3, and 4 sqrt(sum_x p(x)^2/Q), because each state weighs in with its probability if its S happens to
    lie within about |w|_1/Q of 0. Where none does, as at a localized field, the error is below 1e-7.
    """
    n, j = size, abs(coupling)

    def log_z(k: float) -> float:
        return n * np.log(2 * np.cosh(k)) + np.log1p(np.tanh(k) ** n)

    collision = np.exp(log_z(2 * j) - 2 * log_z(j))
    return 1e-3 * (32 / terms) ** 3 + 4 * np.sqrt(collision / terms)


def terms_for(size: int, coupling: float, tolerance: float) -> int:
    """The shortest series whose error is below a tolerance; at most ``TERMS``."""
    choices = np.arange(32, TERMS + 1, 16)
    enough = choices[series_error(size, coupling, choices) <= tolerance]
    return int(enough[0]) if len(enough) else TERMS


# The series ----------------------------------------------------------------------------------------------------------


class SeriesGate(AbstractGate):
    """Fourier series of the sign, by transfer matrices."""

    shrink: Float[Array, ""]
    """tanh J."""
    nodes: Float[Array, " terms"]
    """t_m |w|_1."""
    tapers: Float[Array, "tapers terms"]
    """Coefficients of the series, and of the same cut at half its length, which serves to estimate the error."""

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


def series_gate(shrink: float | Float[Array, ""], terms: int) -> SeriesGate:
    """The series for tanh J = ``shrink``, with its taper: Gamma(m, (e t)^2/2)/Gamma(m), a Gaussian flattened at 0.

    Smoothing by it biases f by O(e^2m) where S has a smooth density, and by nothing where no state comes within a few
    e of 0. The period leaves room for the smoothed jump at its far end.
    """
    odd = 2 * np.arange(terms) + 1
    period = 1 / max(1 - _EDGE * _REACH / (np.pi * odd[-1]), 0.5)
    tapers = [scipy.special.gammaincc(_ORDER, (cut * _REACH * odd / odd[-1]) ** 2 / 2) for cut in (1, 2)]
    rows, nodes = 2 / np.pi / odd * np.stack(tapers), odd * np.pi / period
    return SeriesGate(jnp.asarray(shrink, float), jnp.asarray(nodes), jnp.asarray(rows))


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
        halves = _gated(self.left, left, self.right, right, tie), _gated(self.right, right, self.left, left, tie)
        return jnp.concatenate(halves), jnp.zeros(())


def _gated(
    own: Half, sums: Float[Array, " own"], other: Half, others: Float[Array, " other"], tie: Float[Array, ""]
) -> Float[Array, " spins"]:
    """E[X sign(S)]/2 on the spins of one half."""
    order = jnp.argsort(others)
    below = jnp.concatenate([jnp.zeros((4, 1)), jnp.cumsum(other.seen[:, order], axis=1)], axis=1)
    low = jnp.searchsorted(others[order], -sums - tie)
    high = jnp.searchsorted(others[order], -sums + tie)
    total = below[own.ends, -1]
    balance = total - below[own.ends, high] - below[own.ends, low]
    return (own.weights * balance) @ own.states / (2 * jnp.sum(own.weights * total))


def _half(n: int, coupling: float) -> Half:
    x = hypercube_states(n)
    inside = np.exp(coupling * np.sum(x[:, :-1] * x[:, 1:], axis=1) - abs(coupling) * (n - 1))
    first, last = (x[:, 0] < 0).astype(int), (x[:, -1] < 0).astype(int)
    pairs = [(1 - 2.0 * a, 1 - 2.0 * b) for a in (0, 1) for b in (0, 1)]
    # The other half's last spin is the neighbour of our first, and its first that of our last.
    seen = [inside * np.exp(coupling * (b * x[:, 0] + a * x[:, -1]) - 2 * abs(coupling)) for a, b in pairs]
    return Half(jnp.asarray(x), jnp.asarray(inside), jnp.asarray(2 * first + last), jnp.asarray(np.stack(seen)))
