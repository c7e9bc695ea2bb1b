"""Elliptical laws: a correlated Gaussian direction times an independent radius (the paper's Definition 1)."""

import abc
import functools
import math
from collections.abc import Callable
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from .._errors import setting_error
from .._math import gathered, sphere_coordinate_cdf, unit_nodes
from .._text import readable
from .._types import Float, Key, Leaf, Row, Samples
from ..spec import Setting, Size, SizeField, instance, validated
from ._base import AbstractStimulus
from ._copula import Latent
from ._covariances import LENGTHSCALE, SquaredExponential
from ._marginals import AbstractMarginal, Numbers
from ._normal_maps import DEGREES, StudentT

GRID = 1501
"""Points at which a distribution function is computed at most."""


class AbstractRadial(eqx.Module):
    """The law of the radius R in X = R A U, with U uniform on the unit sphere; the overall scale is free."""

    __repr__ = readable

    @abc.abstractmethod
    def draw(self, key: Key, n: int, dimension: int, dtype) -> Float[jax.Array, " n"]:
        """``n`` independent radii from one ``key``, in ``dtype``, for stimuli of ``dimension`` pixels.

        All but the key are static.
        """

    @abc.abstractmethod
    def moment(self, order: int, dimension: int) -> float:
        """E[R^k], k the ``order``, for ``dimension`` pixels; ``inf`` where it diverges."""

    @abc.abstractmethod
    def marginal(self, dimension: int) -> AbstractMarginal:
        """The law of one of ``dimension`` pixels, scaled to variance 1."""

    def pixel_moment(self, order: int, dimension: int) -> float:
        """E|X|^k, k the ``order``, of one of ``dimension`` pixels of variance 1, X = R U_0 times a scale."""
        d, half = dimension, order / 2
        logs = scipy.special.gammaln(d / 2) - scipy.special.gammaln(d / 2 + half) + scipy.special.gammaln(0.5 + half)
        direction = np.exp(logs) / np.sqrt(np.pi)
        return float(self.moment(order, d) * (d / self.moment(2, d)) ** half * direction)


class AbstractByTail(AbstractRadial):
    """A radius sampled and integrated through its quantile function; its settings are static."""

    @abc.abstractmethod
    def from_tail(self, q: Float[jax.Array, "*any"]) -> Float[jax.Array, "*any"]:
        """The radius exceeded with probability ``q``."""

    def draw(self, key: Key, n: int, dimension: int, dtype) -> Float[jax.Array, " n"]:
        del dimension
        return self.from_tail(jax.random.uniform(key, (n,), dtype, minval=jnp.finfo(dtype).tiny))

    @functools.lru_cache(maxsize=16)  # noqa: B019 (laws without arrays, of which there are few)
    def nodes(self, depth: int) -> tuple[Numbers, Numbers]:
        """Radii and weights for expectations."""
        q, weight = unit_nodes(depth)
        with jax.enable_x64(True):
            return np.asarray(self.from_tail(jnp.asarray(q))), weight

    def moment(self, order: int, dimension: int) -> float:
        del dimension
        radius, weight = self.nodes(1000)
        with np.errstate(over="ignore"):
            powers = weight * radius**order
        # Radii exceeded with probability 2^-990 add nothing to a moment that converges.
        return float(np.sum(powers)) if np.sum(powers[:200]) < 1e-3 * np.sum(powers) else float("inf")

    def marginal(self, dimension: int) -> AbstractMarginal:
        return EllipticalMarginal(self, dimension)


class Surface(AbstractByTail):
    """R = 1: the surface of an ellipse."""

    def from_tail(self, q):
        return jnp.ones_like(q)


class Shell(AbstractByTail):
    """Density 4 e^{2r+4}/(e^{2r}+e^4)^2 on r >= 2 (the paper's section 4.3): mass just outside an ellipse."""

    def from_tail(self, q):
        # The distribution function is tanh(r - 2), so r = 2 + artanh(1 - q), written without rounding 1 - q to 1.
        return 2 + 0.5 * (jnp.log(2 - q) - jnp.log(q))


class RadialStudentT(AbstractRadial):
    """The radius of a multivariate Student t."""

    df: Annotated[Leaf, DEGREES]

    def __init__(self, df):
        (self.df,) = validated(RadialStudentT, df=df)

    def draw(self, key: Key, n: int, dimension: int, dtype) -> Float[jax.Array, " n"]:
        above, below = jax.random.split(key)
        df = jnp.asarray(self.df, dtype)
        # A gamma variate of small shape can round to 0 in float32; the smallest normal number keeps R finite.
        chi2 = jnp.maximum(2 * jax.random.gamma(below, df / 2, (n,), dtype), jnp.finfo(dtype).tiny)
        return jnp.sqrt(2 * jax.random.gamma(above, jnp.asarray(dimension / 2, dtype), (n,), dtype) * df / chi2)

    def moment(self, order: int, dimension: int) -> float:
        df = float(self.df)
        if order >= df:
            return float("inf")
        logs = scipy.special.gammaln((dimension + order) / 2) - scipy.special.gammaln(dimension / 2)
        # Gamma((df - k)/2)/Gamma(df/2): the difference of two logarithms would lose all digits at many degrees.
        logs += scipy.special.betaln((df - order) / 2, order / 2) - scipy.special.gammaln(order / 2)
        return float(np.exp(logs + order / 2 * math.log(df)))

    def marginal(self, dimension: int) -> AbstractMarginal:
        del dimension
        return StudentT(self.df)


class Radial(AbstractByTail):
    """Any radius, by a function ``tail(q)``: the radius that is exceeded with probability ``q``."""

    tail: Callable = eqx.field(static=True)

    def __init__(self, tail: Callable):
        if not callable(tail):
            raise setting_error(Radial, "tail", tail, "a function")
        self.tail = tail
        second = self.moment(2, 1)
        if not np.isfinite(second) or second <= 0:
            raise setting_error(Radial, "tail", tail, "a quantile function whose square has a finite, positive mean")

    def from_tail(self, q):
        return self.tail(q)


class EllipticalMarginal(AbstractMarginal):
    """One coordinate of an elliptical law with variance 1 per pixel."""

    radial: AbstractByTail
    dimension: int = eqx.field(static=True)

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return 1.0

    def excess_kurtosis(self) -> float:
        return self.standard_moment(4) - 3

    def standard_moment(self, order: int) -> float:
        return self.radial.pixel_moment(order, self.dimension)

    def nodes(self) -> tuple[Numbers, Numbers]:
        """A radius times one coordinate sin(theta) of a point on the sphere, whose density is cos(theta)^(D-2).

        Radii are gathered first: in every direction the error is that of values gathered, and nodes are a tenth.
        """
        d = self.dimension
        radius, chance = gathered(*self.radial.nodes(200))
        theta, weight = _angles()
        weight = weight * np.cos(theta) ** (d - 2)
        x = np.outer(radius * np.sqrt(d / self.radial.moment(2, d)), np.sin(theta)).ravel()
        weights = np.outer(chance, weight / (2 * weight.sum())).ravel()
        return np.concatenate([-x[::-1], x]), np.concatenate([weights[::-1], weights])

    def cdf(self, x: Numbers) -> Numbers:
        """A mean over radii; for many x on a grid so fine that it is exact to 1e-5 from 5 pixels on (to 1e-3 for 2)."""
        radius, weight = self.radial.nodes(40)
        radius = radius * np.sqrt(self.dimension / self.radial.moment(2, self.dimension))
        size = np.unique(np.abs(x))
        grid = size if size.size <= GRID else np.sinh(np.linspace(0, np.arcsinh(max(size[-1], 1.0)), GRID))
        above = sphere_coordinate_cdf(grid[:, None] / radius, self.dimension) @ weight - 0.5
        return np.asarray(0.5 + np.sign(x) * np.interp(np.abs(x), grid, above))


@functools.cache
def _angles() -> tuple[Numbers, Numbers]:
    """Nodes on (0, pi/2), refined towards 0, where a steep function of the coordinate turns."""
    edges = np.concatenate([[0.0], np.pi / 2 * 2.0 ** np.arange(-16.0, 1.0)])
    t, weight = np.polynomial.legendre.leggauss(24)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (centre[:, None] + half[:, None] * t).ravel(), (half[:, None] * weight).ravel()


class Elliptical(AbstractStimulus):
    """A correlated direction times a radius: elliptical contours, any excess kurtosis, distant pixels tied."""

    size: SizeField = eqx.field(static=True)
    lengthscale: Annotated[Leaf, LENGTHSCALE]
    radial: Annotated[AbstractRadial, Setting("law of the radius", options=lambda: RADIALS)]
    latent: Latent
    scale: Leaf

    def __init__(self, size: Size, lengthscale, radial: AbstractRadial):
        self.size, self.lengthscale = validated(Elliptical, size=size, lengthscale=lengthscale)
        self.radial = instance(Elliptical, "radial", radial, AbstractRadial, "a radial law, such as Shell()")
        self.latent = Latent(self.size, SquaredExponential(lengthscale))
        self.scale = np.asarray(np.sqrt(self.dimension / radial.moment(2, self.dimension)))

    @property
    def dimension(self) -> int:
        return int(np.prod(self.shape))

    def draw(self, key: Key, n: int, dtype) -> Samples:
        direction_key, radius_key = jax.random.split(key)
        noise = jax.random.normal(direction_key, (n, *self.shape), dtype)
        norm = jnp.sqrt(jnp.sum(noise**2, axis=tuple(range(1, noise.ndim))))
        radius = self.radial.draw(radius_key, n, self.dimension, dtype) * jnp.asarray(self.scale, dtype)
        factor = (radius / norm).reshape(n, *(1,) * len(self.shape))
        return factor * self.latent.field.colour(noise)

    def covariance(self) -> Row:
        return np.asarray(self.latent.row)

    def sign_correlation(self) -> Row:
        return 2 / np.pi * np.arcsin(np.clip(self.latent.row, -1, 1))

    @property
    def marginal(self) -> AbstractMarginal:
        return self.radial.marginal(self.dimension)

    def elliptical_constant(self) -> float:
        return self.radial.pixel_moment(1, self.dimension)


RADIALS = (RadialStudentT, Surface, Shell)
