r"""The localization amplifier phi of the paper's Eq. 6, for every law of a pixel and every variance.

phi(a) = E[X erf(X (a/s^2)/sqrt(2(1 - a^2/s^2)))] on (-s, s), with s^2 the variance of X (B-04; Eq. 6 holds for s = 1).
It turns the correlation of a pixel with the preactivation into the pull on that pixel's weight. In units of s it is
a function of r = a/s alone, phi(a) = s F(a/s), so a :class:`Amplifier` is a scale and one such function.
"""

import abc
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

from .._errors import setting_error
from .._math import unit_nodes
from .._text import call, readable, table
from .._types import Array, Float
from ..spec import Number
from ..stimuli import AbstractMarginal, AbstractStimulus
from ._float64 import in_float64
from ._pixel_law import PixelLaw, pixel_law, root

SLOPE = math.sqrt(2 / math.pi)
"""phi'(0), the same for every law and every variance."""
STEPS = 64
"""Grid points of the table per e-fold of t = r/sqrt(1 - r^2)."""
FEW = 64
"""Arguments that are summed over all nodes at once."""
LOW, HIGH = math.log(1e-9), math.log(1e7)

Reals = Float[Array, "..."]


def _reals(a: Any) -> Reals:
    """Numbers in the type JAX works in: float64 in every call of this room, the caller's own inside of a trace."""
    return jnp.asarray(a, dtype=float)


class AbstractShape(eqx.Module):
    """The amplifier of a law of variance 1, as a function of r in (-1, 1)."""

    __repr__ = readable

    @abc.abstractmethod
    def __call__(self, r: Reals) -> Reals: ...


def odds(r: Reals) -> Reals:
    """r/sqrt(1 - r^2), the inverse of the algebraic sigmoid; large but finite at |r| = 1 and beyond."""
    return r / jnp.sqrt(jnp.maximum((1 - r) * (1 + r), 1e-15))


class Sign(AbstractShape):
    """X = +-1: erf(t/sqrt 2)."""

    def __call__(self, r: Reals) -> Reals:
        return erf(odds(r) * math.sqrt(0.5))


class Odd(AbstractShape):
    """A polynomial r (c0 + c1 r^2 + c2 r^4 + ...): exact for a Gaussian (one term), a Taylor expansion otherwise."""

    coefficients: tuple[float, ...]

    def __call__(self, r: Reals) -> Reals:
        total = jnp.zeros_like(r)
        for c in reversed(self.coefficients):
            total = total * r**2 + c
        return r * total


class Sum(AbstractShape):
    """A sum over nodes, |X| erf(|X| t/sqrt 2): exact for atoms, to 1e-10 for smooth laws."""

    magnitude: Float[Array, " nodes"] | Float[np.ndarray, " nodes"]
    weight: Float[Array, " nodes"] | Float[np.ndarray, " nodes"]

    def __call__(self, r: Reals) -> Reals:
        return _sum(jnp.asarray(self.magnitude), jnp.asarray(self.weight), r)


@jax.jit
def _sum(magnitude: Reals, weight: Reals, r: Reals) -> Reals:
    mass, rate = weight * magnitude, magnitude * math.sqrt(0.5)
    t = odds(r)
    if r.size <= FEW:
        return erf(t[..., None] * rate) @ mass
    values = jax.lax.map(lambda t: mass @ erf(rate * t), t.ravel(), batch_size=FEW)  # a bounded number of products
    return values.reshape(r.shape)


def _stacked(laws: tuple[PixelLaw, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, weights and scales of several laws, filled up to one length by nodes of weight 0."""
    longest = max(law.magnitude.size for law in laws)
    fill = [(0, longest - law.magnitude.size) for law in laws]
    magnitude = np.stack([np.pad(law.magnitude, pad) for law, pad in zip(laws, fill, strict=True)])
    weight = np.stack([np.pad(law.weight, pad) for law, pad in zip(laws, fill, strict=True)])
    return magnitude, weight, np.array([law.scale for law in laws])


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, 0, None))
def _sums(magnitude: Reals, weight: Reals, scale: Reals, a: Reals) -> Reals:
    return scale * _sum(magnitude, weight, a / scale)


class Table(AbstractShape):
    """Cubic pieces between exact values and slopes of F(r)/r on an even grid in log t.

    Each |X| erf(|X| t) is the same function shifted along log t, so its fourth derivative, and with it the error, is
    bounded alike for all laws, however heavy their tails: 6.3/(384 STEPS^4) E|X|, which is 1e-9.
    """

    value: Float[Array, " grid"] | Float[np.ndarray, " grid"]
    slope: Float[Array, " grid"] | Float[np.ndarray, " grid"]

    def __call__(self, r: Reals) -> Reals:
        value, slope = jnp.asarray(self.value), jnp.asarray(self.slope)
        # A constant below the grid: the gradient at r = 0 is then the slope there, and not 0 times infinity.
        position = (jnp.log(jnp.clip(jnp.abs(odds(r)), math.exp(LOW), math.exp(HIGH))) - LOW) * STEPS
        i = jnp.clip(position.astype(jnp.int32), 0, value.shape[0] - 2)
        u = position - i
        rise = value[i + 1] - value[i]
        bend = (1 - u) * (slope[i] - rise) - u * (slope[i + 1] - rise)
        return r * (value[i] + u * (rise + (1 - u) * bend))


def _table(law: PixelLaw) -> Table:
    t = np.exp(LOW + np.arange(int((HIGH - LOW) * STEPS) + 2) / STEPS)
    phi, change = law.amplify(t)
    norm = np.sqrt(1 + t**2)
    return Table(phi * norm / t, (norm * change - phi / (t * norm)) / STEPS)


# One program for each shape of the argument; op by op there would be dozens.


@jax.jit
def _value(shape: AbstractShape, scale: Reals, a: Reals) -> Reals:
    return scale * shape(a / scale)


@jax.jit
def _slope(shape: AbstractShape, scale: Reals, a: Reals) -> Reals:
    return jax.jvp(partial(_value, shape, scale), (a,), (jnp.ones_like(a),))[1]


@jax.jit
def _elasticity(shape: AbstractShape, scale: Reals, a: Reals) -> Reals:
    near = jnp.where(a == 0, 1.0, a)
    return jnp.where(a == 0, 1.0, near * _slope(shape, scale, near) / _value(shape, scale, near))


class Amplifier(eqx.Module):
    """phi, as a function of arrays that compiles, maps and differentiates; odd, with limit E|X| at +-s.

    :func:`amplifier` makes it. ``shape``: phi in units of s, as a function of r = a/s. ``law``: the pixel's law behind
    it, as nodes and moments. ``groups``: for a law of samples, that law with one group of them left out after the
    other, from which the standard error comes; empty where the law is known exactly.
    """

    shape: AbstractShape
    law: PixelLaw
    groups: tuple[PixelLaw, ...] = ()

    def __repr__(self) -> str:
        facts = {"scale": self.scale, "limit": self.limit, "excess_kurtosis": self.law.fourth - 3}
        return call("Amplifier", {"form": type(self.shape)} | {name: round(fact, 4) for name, fact in facts.items()})

    def _repr_html_(self) -> str:
        crossing = self.crossing()
        rows = [
            ("standard deviation s of a pixel", f"{self.scale:.4g}"),
            ("limit E|X| at a = s", f"{self.limit:.4g}"),
            ("excess kurtosis", f"{self.law.fourth - 3:.4g}"),
            ("index: area above its tangent", f"{self.index():+.4g}"),
            ("crosses its tangent at", "nowhere" if crossing is None else f"a = {crossing:.4g}"),
        ]
        return table(rows, caption=f"Amplifier phi ({type(self.shape).__name__})")

    @property
    def scale(self) -> float:
        """The standard deviation s: phi lives on (-s, s)."""
        return self.law.scale

    @property
    def limit(self) -> float:
        """E|X|, the value at a = s."""
        return self.law.first * self.law.scale

    @in_float64
    def __call__(self, a: Any) -> Reals:
        """phi at ``a``, a number or an array of them."""
        return _value(self.shape, self.scale, _reals(a))

    @in_float64
    def slope(self, a: Any) -> Reals:
        """phi'(a), by automatic differentiation, at any array ``a`` of numbers in (-s, s)."""
        return _slope(self.shape, self.scale, _reals(a))

    @in_float64
    def elasticity(self, a: Any) -> Reals:
        """``a phi'(a)/phi(a)``: how much faster than in proportion phi grows; 1 at 0. C8's criterion rests on it."""
        return _elasticity(self.shape, self.scale, _reals(a))

    def taylor(self, order: int = 3) -> "Amplifier":
        """The expansion to ``order`` 1, 3 or 5: slope sqrt(2/pi), then (3 - kappa)/6 (Lemma B.1 with B-02 and B-04)."""
        fourth, sixth = self.law.fourth, self.law.sixth
        terms = {1: (1.0,), 3: (1.0, (3 - fourth) / 6), 5: (1.0, (3 - fourth) / 6, 3 / 8 - fourth / 4 + sixth / 40)}
        if order not in terms:
            raise setting_error("taylor", "order", order, "1, 3 or 5")
        if not np.all(np.isfinite(terms[order])):
            highest = 1 if math.isinf(fourth) else 3
            raise setting_error(
                "taylor", "order", order, f"at most {highest}, as the next moment of this law is infinite"
            )
        return Amplifier(Odd(tuple(SLOPE * c for c in terms[order])), self.law)

    def tabulated(self) -> "Amplifier":
        """The same, from a table where it has no closed form: fast for a large ring, with an error below 1e-8."""
        return Amplifier(_table(self.law), self.law) if isinstance(self.shape, Sum) else self

    @in_float64
    def index(self) -> float:
        """Area between phi and its tangent over (0, s), as a share of that under the tangent; > 0: super-linear."""
        q, weight = unit_nodes(40)
        r = np.sin(np.pi / 2 * q)
        area = np.sum(weight * np.pi / 2 * np.cos(np.pi / 2 * q) * np.asarray(_value(self.shape, 1.0, r)))
        return float(area / (SLOPE / 2) - 1)

    @in_float64
    def crossing(self) -> float | None:
        """The least a in (0, s) at which phi crosses its tangent; None where it stays on one side."""
        r = np.sin(np.pi / 2 * np.linspace(0.01, 1, 200))
        apart = self._apart(r)
        signs = np.where(np.abs(apart) < 1e-11, 0, np.sign(apart))
        r, signs = r[signs != 0], signs[signs != 0]
        turns = np.flatnonzero(np.diff(signs))
        if not turns.size:
            return None
        return self.scale * root(lambda x: float(self._apart(x)), float(r[turns[0]]), float(r[turns[0] + 1]))

    def _apart(self, r: Any) -> Any:
        return np.asarray(_value(self.shape, 1.0, jnp.asarray(r))) / r - SLOPE

    @in_float64
    def standard_error(self, a: Any) -> Reals:
        """The sampling error of phi at ``a`` by the jackknife over groups of samples; 0 for a law known exactly."""
        a = _reals(a)
        if not self.groups:
            return jnp.zeros_like(a)
        left_out = _sums(*_stacked(self.groups), a)
        return jnp.sqrt((len(self.groups) - 1) * jnp.var(left_out, axis=0))


@in_float64
def amplifier(marginal: AbstractMarginal | AbstractStimulus, *, groups: int = 20) -> Amplifier:
    """The amplifier of a ``marginal``, the law of one pixel, or of a stimulus.

    Closed form for +-1 and for Gaussians, quadrature otherwise. Values (``Empirical``, its marginal) have a
    :meth:`Amplifier.standard_error`: give the stimulus rather than its marginal, so that whole samples are left out
    and correlated pixels do not count as independent. A law with a mean is centred. ``groups``: into which samples
    are parted for that error; with 0 there is none, and much less to do.
    """
    law = marginal.marginal if isinstance(marginal, AbstractStimulus) else marginal
    if not isinstance(law, AbstractMarginal):
        raise setting_error("amplifier", "marginal", marginal, "a marginal, such as stimulus.marginal, or a stimulus")
    plain, left_out = without_error(law), marginal.jackknife(groups) if groups else ()
    return Amplifier(plain.shape, plain.law, tuple(pixel_law(group) for group in left_out))


def without_error(marginal: AbstractMarginal) -> Amplifier:
    """The amplifier without the groups that its standard error takes."""
    law = pixel_law(marginal)
    return Amplifier(_shape(marginal, law), law)


def _shape(marginal: AbstractMarginal, law: PixelLaw) -> AbstractShape:
    if marginal.is_gaussian:
        return Odd((SLOPE,))
    if np.allclose(law.magnitude, 1, rtol=1e-14, atol=0):
        return Sign()
    return Sum(law.magnitude, law.weight)


@in_float64
def index_sign_change(marginals: Callable[[float], AbstractMarginal], low: Number, high: Number) -> float:
    """The setting between ``low`` and ``high`` at which a family of laws turns from super- to sub-linear.

    ``marginals`` gives the law for a setting, e.g. ``Algebraic``: there the whole curve phi has as much area above
    its tangent as below, which need not be where the excess kurtosis, its curvature at 0, vanishes.
    """

    def area(value: Number) -> float:
        return amplifier(marginals(value)).index()

    if area(low) * area(high) > 0:
        raise setting_error(
            "index_sign_change", "low, high", (low, high), "settings at which the index differs in sign"
        )
    return root(area, low, high)
