"""E ReLU<w,X> and its gradient from tables: every window's cells exactly, everything else Gaussian.

A table says how likely each cell of a window is and what the mean X is there. In a cell take S = <w,X> Gaussian with its
mean r = <w, E[X | cell]> and one variance for all cells, s^2 = E S^2 - sum p r^2, so that both moments of S are right:

    h = sum p [r Phi(r/s) + s phi(r/s)],    grad h = sum p T [Phi(r/s) - d r] + d E[X X'] w,    d = sum p phi(r/s)/s.

Windows come with counting numbers that sum to 1: what is in two windows is subtracted again, and the rest goes to no
window at all, which is the linear amplifier. The same closure gives E ReLU^2/2 where data are not sign-symmetric.
"""

import abc
import math

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import erf

from ..._types import Array, Float, Int
from .._products import AbstractProducts

Field = Float[Array, " n"]
FLOOR = 1e-10
"""The least share of the variance that is left inside cells: rounding may leave less than nothing."""


class AbstractClosure(eqx.Module):
    """What a ReLU neuron sees of one class, as two functions of its weights w (pixels flattened)."""

    @abc.abstractmethod
    def moments(self, w: Field) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """E ReLU<w,X> and E ReLU<w,X>^2/2."""

    @abc.abstractmethod
    def gradients(self, w: Field) -> tuple[Field, Field]:
        """The gradients of both: f(w) = E[1(<w,X> >= 0) X], and E[ReLU<w,X> X]."""


class Term(eqx.Module):
    """Windows of one form at every place: their counting numbers and their table.

    Windows that differ in form but not in their number of cells are ``groups``. ``there``: the pixel that each column
    of the table means, for every place. ``back``: for every column and pixel, the place that sees the pixel there; None
    where there is one place and columns are pixels.
    """

    count: Float[Array, " groups"]
    chance: Float[Array, "groups cells"]
    means: Float[Array, "groups cells columns"]
    there: Int[Array, "columns places"]
    back: Int[Array, "columns n"] | None

    def project(self, w: Field) -> Float[Array, "groups cells places"]:
        """<w, E[X | cell]> of every window."""
        flat = self.means.reshape(-1, self.means.shape[-1]) @ w[self.there]
        return flat.reshape(*self.chance.shape, -1)

    def spread(self, weights: Float[Array, "groups cells places"]) -> Field:
        """sum over windows and cells of a weight times E[X | cell]."""
        flat = self.means.reshape(-1, self.means.shape[-1]).T @ weights.reshape(-1, weights.shape[-1])
        return flat[:, 0] if self.back is None else jnp.sum(jnp.take_along_axis(flat, self.back, axis=1), axis=0)


class _Cells(eqx.Module):
    """S in the cells of one term: means, one standard deviation a window, the share above 0, the density at 0."""

    chance: Float[Array, "groups cells 1"]
    mean: Float[Array, "groups cells places"]
    spread: Float[Array, "groups 1 places"]
    above: Float[Array, "groups cells places"]
    density: Float[Array, "groups cells places"]

    def average(self, values: Float[Array, "groups cells places"]) -> Float[Array, "groups 1 places"]:
        return jnp.sum(self.chance * values, axis=1, keepdims=True)


class WindowSum(AbstractClosure):
    """The sum over all windows. ``products``: w to E[X X'] w. ``factor``: X is so many times what tables are of."""

    terms: tuple[Term, ...]
    products: AbstractProducts
    factor: Float[Array, ""]
    symmetric: bool = eqx.field(static=True)

    def moments(self, w: Field) -> tuple[Float[Array, ""], Float[Array, ""]]:
        moved = self.products(w[None])[0, 0]
        total = w @ moved
        first, second = jnp.zeros(()), jnp.zeros(())
        for term in self.terms:
            cells = self._cells(term, w, total)
            count = term.count[:, None, None]
            first += jnp.sum(count * cells.average(cells.mean * cells.above + cells.spread * cells.density))
            if not self.symmetric:
                square = (cells.mean**2 + cells.spread**2) * cells.above + cells.mean * cells.spread * cells.density
                second += jnp.sum(count * cells.average(square)) / 2
        return self.factor * first, self.factor**2 * (total / 4 if self.symmetric else second)

    def gradients(self, w: Field) -> tuple[Field, Field]:
        moved = self.products(w[None])[0, 0]
        total = w @ moved
        first, second, narrow, open_ = jnp.zeros_like(w), jnp.zeros_like(w), jnp.zeros(()), jnp.zeros(())
        for term in self.terms:
            cells = self._cells(term, w, total)
            count = term.count[:, None, None]
            d = cells.average(cells.density) / cells.spread
            first += term.spread(count * cells.chance * (cells.above - d * cells.mean))
            narrow += jnp.sum(count * d)
            if not self.symmetric:
                share = cells.average(cells.above)
                relu = cells.mean * cells.above + cells.spread * cells.density
                second += term.spread(count * cells.chance * (relu - share * cells.mean))
                open_ += jnp.sum(count * share)
        second = moved / 2 if self.symmetric else second + open_ * moved
        return self.factor * (first + narrow * moved), self.factor**2 * second

    def _cells(self, term: Term, w: Field, total: Float[Array, ""]) -> _Cells:
        mean, chance = term.project(w), term.chance[:, :, None]
        left = total - jnp.sum(chance * mean**2, axis=1, keepdims=True)
        spread = jnp.sqrt(jnp.maximum(left, FLOOR * total))
        y = mean / spread
        # Of sign-symmetric data half the cells are kept, and 1/2 that sums to nothing is left out.
        above = erf(y / math.sqrt(2)) / 2 + (0 if self.symmetric else 0.5)
        return _Cells(chance, mean, spread, above, jnp.exp(-(y**2) / 2) / math.sqrt(2 * math.pi))
