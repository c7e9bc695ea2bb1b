"""E ReLU<w,X> and its gradient from tables: every window's cells exactly, everything else Gaussian.

A table says how likely each cell of a window is and what the mean X is there. In a cell take S = <w,X> Gaussian with
its mean r = <w, E[X | cell]> and one variance for all cells, s^2 = E S^2 - sum p r^2, so that both moments of S are
right:

    h = sum p [r Phi(r/s) + s phi(r/s)],    grad h = sum p T [Phi(r/s) - d r] + d E[X X'] w,    d = sum p phi(r/s)/s.

Windows come with counting numbers that sum to 1: what is in two windows is subtracted again, and the rest goes to no
window at all, which is the linear amplifier. The same closure gives E ReLU^2/2 where data are not sign-symmetric.
"""

import abc
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ..._types import Array, Float, Leaf
from .._products import AbstractProducts

Field = Float[Array, " n"] | Float[np.ndarray, " n"]
PerCell = Float[Array, "groups cells places"] | Float[np.ndarray, "groups cells places"]
Number = Float[Array, ""] | Float[np.ndarray, ""] | float
FLOOR = 1e-10
"""The least share of the variance that is left inside cells: rounding may leave less than nothing."""


class AbstractClosure(eqx.Module):
    """What a ReLU neuron sees of one class, as two functions of its weights w (pixels flattened).

    By numpy for numpy's arrays, where a handful of fields would not be worth a compilation, and by JAX for its own.
    """

    @abc.abstractmethod
    def moments(self, w: Field) -> tuple[Number, Number]:
        """E ReLU<w,X> and E ReLU<w,X>^2/2 at a field ``w``."""

    @abc.abstractmethod
    def gradients(self, w: Field) -> tuple[Field, Field]:
        """The gradients of both at ``w``: f(w) = E[1(<w,X> >= 0) X], and E[ReLU<w,X> X]."""


class Term(eqx.Module):
    """Windows of one form at every place: their counting numbers and their table.

    Windows that differ in form but not in their number of cells are ``groups``. ``there``: the pixel that each column
    of the table means, for every place. ``back``: for every column and pixel, the place that sees the pixel there; None
    where there is one place and columns are pixels.
    """

    count: Leaf
    chance: Leaf
    means: Leaf
    there: Leaf
    back: Leaf | None

    def project(self, w: Field) -> PerCell:
        """<w, E[X | cell]> of every window."""
        flat = self.means.reshape(-1, self.means.shape[-1]) @ w[self.there]
        return flat.reshape(*self.chance.shape, -1)

    def spread(self, weights: PerCell) -> Field:
        """sum over windows and cells of a weight times E[X | cell]."""
        flat = self.means.reshape(-1, self.means.shape[-1]).T @ weights.reshape(-1, weights.shape[-1])
        return flat[:, 0] if self.back is None else xp_of(flat).take_along_axis(flat, self.back, axis=1).sum(0)


class _Cells(NamedTuple):
    """S in the cells of one term: means, one standard deviation a window, the share above 0, the density at 0."""

    chance: Any
    mean: Any
    spread: Any
    above: Any
    density: Any

    def average(self, values: Any) -> Any:
        """Over the cells of each window."""
        return (self.chance * values).sum(1, keepdims=True)


class WindowSum(AbstractClosure):
    """The sum over all windows.

    ``terms``: windows by their form, the last of them none at all. ``products``: w to E[X X'] w. ``factor``: X is so
    many times what tables are of. ``symmetric``: whether X has the law of -X.
    """

    terms: tuple[Term, ...]
    products: AbstractProducts
    factor: Leaf
    symmetric: bool = eqx.field(static=True)

    def moments(self, w: Field) -> tuple[Number, Number]:
        total = w @ self._image(w)
        first, second = 0.0, 0.0
        for term, cells in zip(self.terms, self._cells(w, total), strict=True):
            count = term.count[:, None, None]
            first += (count * cells.average(cells.mean * cells.above + cells.spread * cells.density)).sum()
            if not self.symmetric:
                square = (cells.mean**2 + cells.spread**2) * cells.above + cells.mean * cells.spread * cells.density
                second += (count * cells.average(square)).sum() / 2
        return self.factor * first, self.factor**2 * (total / 4 if self.symmetric else second)

    def gradients(self, w: Field) -> tuple[Field, Field]:
        image = self._image(w)
        first, second, narrow, share = 0.0, 0.0, 0.0, 0.0
        for term, cells in zip(self.terms, self._cells(w, w @ image), strict=True):
            count = term.count[:, None, None]
            d = cells.average(cells.density) / cells.spread
            first += term.spread(count * cells.chance * (cells.above - d * cells.mean))
            narrow += (count * d).sum()
            if not self.symmetric:
                above = cells.average(cells.above)
                relu = cells.mean * cells.above + cells.spread * cells.density
                second += term.spread(count * cells.chance * (relu - above * cells.mean))
                share += (count * above).sum()
        second = image / 2 if self.symmetric else second + share * image
        return self.factor * (first + narrow * image), self.factor**2 * second

    def _image(self, w: Field) -> Field:
        """E[X X'] w."""
        return self.products(w[None])[0, 0]

    def _cells(self, w: Field, total: Number) -> list[_Cells]:
        xp = xp_of(w)
        means = [term.project(w) for term in self.terms]
        chances = [term.chance[:, :, None] for term in self.terms]
        left = [total - (p * r**2).sum(1, keepdims=True) for p, r in zip(chances, means, strict=True)]
        spreads = [xp.sqrt(xp.maximum(rest, FLOOR * total)) for rest in left]
        # All cells at once: each erf is much code, and compiling one for every term would take seconds.
        y = xp.concatenate([(r / s).ravel() for r, s in zip(means, spreads, strict=True)])
        # Of sign-symmetric data half the cells are kept, and 1/2 that sums to nothing is left out.
        above = _erf(y / math.sqrt(2)) / 2 + (0 if self.symmetric else 0.5)
        density = xp.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
        cuts = np.cumsum([r.size for r in means])[:-1].tolist()
        parts = zip(chances, means, spreads, xp.split(above, cuts), xp.split(density, cuts), strict=True)
        return [_Cells(p, r, s, a.reshape(r.shape), d.reshape(r.shape)) for p, r, s, a, d in parts]


def xp_of(x: Any) -> Any:
    """The library that an array belongs to."""
    return jnp if isinstance(x, jax.Array) else np


def _erf(x: Any) -> Any:
    return jax.scipy.special.erf(x) if isinstance(x, jax.Array) else scipy.special.erf(x)


def gated_inputs(closure: AbstractClosure, w: Float[np.ndarray, "fields n"]) -> Float[np.ndarray, "fields n"]:
    """f of many fields, one after the other, by numpy."""
    return np.stack([closure.gradients(one)[0] for one in w])
