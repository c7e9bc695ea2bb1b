"""Laws of one pixel as maps of a standard normal: the marginals of copulas.

A copula's marginal is an increasing map ``from_normal`` that carries a standard normal to the law, with mean 0 and
variance 1. That one map gives samples, moments, distribution function and the covariance of the pushed field.
Maps work from the tail probability erfc, never from 1 - Phi(z), which rounds to 0 near |z| = 5.5 in float32.
"""

import abc
from collections.abc import Callable
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.scipy.special import erf

from .._errors import setting_error
from .._math import OddTable, hermite_powers, normal_nodes, normal_tail
from .._types import Array, Float, Leaf
from ..spec import Setting, validated
from ._marginals import AbstractMarginal, Numbers, root

Columns = Float[np.ndarray, "*any n"]
FAR = 38.0
"""Beyond this many standard deviations the normal density is no float64 number."""
GAIN = Setting("steepness g of erf(g z); IG22 writes sqrt(2) g", ge=1e-30, le=1e30, typical=(0.01, 100))
EXPONENT = Setting("exponent; the variance needs k > 2, the kurtosis k > 4", gt=2, le=1e12, typical=(3, 30))
DEGREES = Setting("degrees of freedom; the variance needs df > 2", gt=2, le=1e12, typical=(2.5, 30))


class AbstractNormalMap(AbstractMarginal):
    """A marginal given by its increasing map from a standard normal, with mean 0 and variance 1."""

    @abc.abstractmethod
    def from_normal(self, z: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The map T for which T(z) has this law when ``z`` is a standard normal."""

    @property
    def symmetric(self) -> bool:
        """Whether -X has the law of X."""
        return True

    def _exactly(self, z: Numbers) -> Numbers:
        """The map in float64, filled up to a power of two: each other length would be compiled again."""
        z = np.asarray(z, float)
        length = 1 << max(z.size - 1, 15).bit_length()
        with jax.enable_x64(True):
            return np.asarray(_mapped(self, jnp.asarray(np.resize(z, length))))[: z.size].reshape(z.shape)

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return 1.0

    def excess_kurtosis(self) -> float:
        return self._moment(4) - 3

    def standard_moment(self, order: int) -> float:
        return self.excess_kurtosis() + 3 if order == 4 else self._moment(order)

    def _moment(self, order: int) -> float:
        """E|X|^order; past |z| = 37 less than a thousandth is left of every moment that converges."""
        z, weight = normal_nodes()
        with np.errstate(over="ignore"):
            terms = weight * np.abs(self._exactly(z)) ** order
        return float(np.sum(terms)) if np.sum(terms[np.abs(z) > 37]) < 1e-3 * np.sum(terms) else float("inf")

    def nodes(self) -> tuple[Numbers, Numbers]:
        atoms = self.atoms()
        z, weight = normal_nodes()
        return (self._exactly(z), weight) if atoms is None else atoms

    def quantile(self, p: Numbers) -> Numbers:
        """The value below which X falls with probability ``p``."""
        return self._exactly(scipy.special.ndtri(p))

    def cdf(self, x: Numbers) -> Numbers:
        x = np.asarray(x, float)
        total = max(x.size, 1)

        def above(z: Numbers, x: Numbers) -> Numbers:
            # All of z at once, filled up to one length: another length would be compiled again.
            gap = self._exactly(np.resize(z, total))[: z.size].reshape(z.shape) - x
            return np.where(gap > 0, gap, np.minimum(gap, -1e-300))  # equal is not above

        lowest, highest = self._exactly(np.array([-FAR, FAR]))
        ends = np.full(x.shape, -FAR), np.full(x.shape, FAR)
        chance = scipy.special.ndtr(root(above, ends, x, tolerances={"xatol": 1e-17}))
        return np.where(x < lowest, 0.0, np.where(x >= highest, 1.0, chance))

    def gated(self, latent: Numbers) -> Numbers:
        """E[1(T(Z) >= 0) T(Z')] for two normals of the correlation ``latent``.

        E[T(Z) Phi((r Z - z0)/sqrt(1 - r^2))] by quadrature, with z0 where T turns positive.
        """
        z, weight = normal_nodes()
        terms, turn = weight * self._exactly(z), scipy.special.ndtri(self.cdf(np.array(-np.finfo(float).tiny)))
        rest = np.sqrt(np.maximum(1 - np.ravel(latent) ** 2, 1e-300))
        rows = [
            np.sum(terms * scipy.special.ndtr((r * z - turn) / q)) for r, q in zip(np.ravel(latent), rest, strict=True)
        ]
        return np.array(rows).reshape(np.shape(latent))

    def correlation(self, latent: Numbers) -> Numbers:
        """Covariance of two pixels whose normals have the correlation ``latent``."""
        return np.asarray(self._correlation_map()(latent))

    def _correlation_map(self) -> Callable:
        """By Hermite expansion, where there is no closed form.

        What the first 400 terms leave out is put on one odd term, so that the value at 1 is exact and the error
        elsewhere is at most the power left out.
        """
        powers = hermite_powers(self._exactly(normal_nodes()[0]))
        rest = max(self.variance() - powers[1:].sum(), 0.0)
        return np.polynomial.Polynomial(np.concatenate([[0.0], powers[1:], [0.0, rest]]))

    def smoothed(self, mean: Columns, variance: Float[np.ndarray, " n"]) -> Columns:
        """E T(``mean`` + sqrt(``variance``) xi) for a standard normal xi: a pixel's mean given some of its latent.

        ``mean`` (..., n) has a ``variance`` (n) for each of its columns. Gauss and Hermite's quadrature on a grid of
        means, with lines between; a column without variance is the map itself.
        """
        value = self._exactly(np.linspace(-FAR / 2, FAR / 2, 2**16))
        t, weight = np.polynomial.hermite_e.hermegauss(32)
        reach = max(float(np.max(np.abs(mean))), 1e-9)
        grid = np.linspace(-reach, reach, 2**9)[:, None]
        rows = np.ascontiguousarray(np.moveaxis(mean, -1, 0))
        for row, rest in zip(rows, variance, strict=True):
            smooth, ends = value, FAR / 2
            if rest > 0:
                smooth = _between(value, ends, grid + np.sqrt(rest) * t) @ weight / np.sqrt(2 * np.pi)
                ends = reach
            row[...] = _between(smooth, ends, row)
        return np.moveaxis(rows, 0, -1)

    def latent_correlation(self, wanted: Numbers) -> Numbers:
        """The latent correlation behind a ``wanted`` one, by inverting :meth:`correlation`; refused out of range."""
        lowest, highest = self.correlation(np.array([-1.0, 1.0]))
        if np.min(wanted) < lowest - 1e-12 or np.max(wanted) > highest + 1e-12:
            worst = np.min(wanted) if np.min(wanted) < lowest - 1e-12 else np.max(wanted)
            raise setting_error(type(self), "correlation", float(worst), f"between {lowest:.6g} and {highest:.6g}")
        return np.where(np.asarray(wanted) >= highest, 1.0, self._inverse(np.clip(wanted, lowest, highest)))

    def _inverse(self, wanted: Numbers) -> Numbers:
        correlation = self._correlation_map()
        ends = np.full(np.shape(wanted), -1.0), np.full(np.shape(wanted), 1.0)
        return root(lambda r, wanted: correlation(r) - wanted, ends, wanted)


def _between(values: Float[np.ndarray, " grid"], reach: float, x: Numbers) -> Numbers:
    """Lines between values on an even grid from -reach to reach; ten times as fast as ``np.interp``, which searches."""
    place = np.clip((x + reach) * ((len(values) - 1) / (2 * reach)), 0, len(values) - 1.000001)
    left = place.astype(np.int32)
    low = values[left]
    return low + (place - left) * (values[left + 1] - low)


@jax.jit
def _mapped(marginal: AbstractNormalMap, z: Float[Array, "*any"]) -> Float[Array, "*any"]:
    return marginal.from_normal(z)


class Normal(AbstractNormalMap):
    """Gaussian; excess kurtosis 0."""

    def from_normal(self, z):
        return z

    @property
    def is_gaussian(self) -> bool:
        return True

    def excess_kurtosis(self) -> float:
        return 0.0

    def _correlation_map(self) -> Callable:
        return np.positive

    def smoothed(self, mean: Columns, variance: Float[np.ndarray, " n"]) -> Columns:
        del variance
        return mean


class Erf(AbstractNormalMap):
    """erf(gain z), the marginal of NLGP: Gaussian at small gain, +-1 at large gain; excess kurtosis 0 to -2."""

    gain: Annotated[Leaf, GAIN]
    norm: Leaf

    def __init__(self, gain):
        (self.gain,) = validated(Erf, gain=gain)
        self.norm = np.asarray(np.sqrt(2 / np.pi * np.arcsin(self._share())))

    def _share(self) -> np.ndarray:
        return np.asarray(2 * self.gain**2 / (1 + 2 * self.gain**2))

    def from_normal(self, z):
        return erf(jnp.asarray(self.gain, z.dtype) * z) / jnp.asarray(self.norm, z.dtype)

    def _correlation_map(self) -> Callable:
        return lambda latent: 2 / np.pi * np.arcsin(self._share() * latent) / self.norm**2

    def _inverse(self, wanted: Numbers) -> Numbers:
        return np.asarray(np.sin(np.pi / 2 * self.norm**2 * wanted) / self._share())

    def smoothed(self, mean: Columns, variance: Float[np.ndarray, " n"]) -> Columns:
        return scipy.special.erf(mean / np.sqrt(1 / self.gain**2 + 2 * variance)) / self.norm

    def gated(self, latent: Numbers) -> Numbers:
        """atan(r/sqrt(1/(2 g^2) + 1 - r^2))/(pi norm), r the ``latent`` correlation.

        Eqs. 72 to 74 of the network notes have 2/sqrt(pi) in front.
        """
        apart = np.sqrt(1 / (2 * self.gain**2) + 1 - latent**2)
        return np.arctan2(latent, apart) / (np.pi * self.norm)


class Algebraic(AbstractNormalMap):
    """The algebraic sigmoid's law, the marginal of Kur: heavy tails at small k, close to uniform at large k."""

    k: Annotated[Leaf, EXPONENT]
    norm: Leaf

    def __init__(self, k):
        (self.k,) = validated(Algebraic, k=k)
        self.norm = np.asarray(np.sqrt(scipy.special.beta(3 / self.k, 1 - 2 / self.k) / self.k))

    def from_normal(self, z):
        k = jnp.asarray(self.k, z.dtype)
        numbers = jnp.finfo(z.dtype)
        tail = jnp.clip(normal_tail(z), numbers.tiny, 1 - numbers.eps)  # at 0 the logarithm would have no slope
        below = -jnp.expm1(k * jnp.log1p(-tail))  # 1 - u^k for u = 1 - tail, without cancellation
        root = jnp.exp(jnp.log(below) / k)  # a power would take as long as all the rest together
        return erf(z * np.sqrt(0.5).astype(z.dtype)) / (jnp.asarray(self.norm, z.dtype) * root)

    def excess_kurtosis(self) -> float:
        k = float(self.k)
        if k <= 4:
            return float("inf")
        return float(k * scipy.special.beta(5 / k, 1 - 4 / k) / scipy.special.beta(3 / k, 1 - 2 / k) ** 2 - 3)


class Uniform(AbstractNormalMap):
    """Uniform on an interval; excess kurtosis -1.2."""

    def from_normal(self, z):
        return np.sqrt(3.0).astype(z.dtype) * erf(z * np.sqrt(0.5).astype(z.dtype))

    def excess_kurtosis(self) -> float:
        return -1.2

    def _correlation_map(self) -> Callable:
        return lambda latent: 6 / np.pi * np.arcsin(latent / 2)

    def smoothed(self, mean: Columns, variance: Float[np.ndarray, " n"]) -> Columns:
        return np.sqrt(3.0) * scipy.special.erf(mean / np.sqrt(2 + 2 * variance))


class Laplace(AbstractNormalMap):
    """Two-sided exponential; excess kurtosis 3."""

    def from_normal(self, z):
        centre = -jnp.log1p(-erf(jnp.minimum(jnp.abs(z), 1) * np.sqrt(0.5).astype(z.dtype)))
        tail = -jnp.log(jnp.maximum(normal_tail(z), jnp.finfo(z.dtype).tiny))
        return jnp.sign(z) * jnp.where(jnp.abs(z) < 1, centre, tail) * np.sqrt(0.5).astype(z.dtype)

    def excess_kurtosis(self) -> float:
        return 3.0


class Bernoulli(AbstractNormalMap):
    """+1 or -1 with equal chance; excess kurtosis -2, the least there is."""

    def from_normal(self, z):
        return jnp.where(z < 0, -1, 1).astype(z.dtype)

    def excess_kurtosis(self) -> float:
        return -2.0

    def _correlation_map(self) -> Callable:
        return lambda latent: 2 / np.pi * np.arcsin(latent)

    def smoothed(self, mean: Columns, variance: Float[np.ndarray, " n"]) -> Columns:
        return np.where(
            variance > 0, scipy.special.erf(mean / np.sqrt(np.maximum(2 * variance, 1e-300))), np.sign(mean)
        )

    def _inverse(self, wanted: Numbers) -> Numbers:
        return np.asarray(np.sin(np.pi / 2 * wanted))

    def atoms(self) -> tuple[Numbers, Numbers]:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])


class StudentT(AbstractNormalMap):
    """Student's t, scaled to variance 1; excess kurtosis 6/(df - 4), infinite for df <= 4."""

    df: Annotated[Leaf, DEGREES]
    table: OddTable

    def __init__(self, df):
        (self.df,) = validated(StudentT, df=df)
        self.table = OddTable(self._magnitude)

    def _magnitude(self, z: np.ndarray) -> np.ndarray:
        """Quantile of the tail: through the centre's share near 0, and as the power law it is beyond z = 20."""
        near, middle = np.minimum(z, 1), np.clip(z, 1, 20)
        share = scipy.special.betaincinv(0.5, self.df / 2, scipy.special.erf(near / np.sqrt(2)))
        centre = np.sqrt(self.df * share / (1 - share))
        tail = -scipy.special.stdtrit(self.df, scipy.special.ndtr(-middle))
        tail = tail * np.exp((scipy.special.log_ndtr(-middle) - scipy.special.log_ndtr(-np.maximum(z, 1))) / self.df)
        return np.where(z < 1, centre, tail) * np.sqrt((self.df - 2) / self.df)

    def from_normal(self, z):
        return self.table(z)

    def excess_kurtosis(self) -> float:
        return float(6 / (self.df - 4)) if self.df > 4 else float("inf")


class GeneralizedNormal(AbstractNormalMap):
    """Density proportional to exp(-abs(x/a)^shape): Laplace at shape 1, Gaussian at 2, uniform at infinity."""

    shape: Annotated[Leaf, Setting("exponent of |x| in the log-density", ge=0.25, le=100, typical=(0.5, 20))]
    table: OddTable

    def __init__(self, shape):
        (self.shape,) = validated(GeneralizedNormal, shape=shape)
        self.table = OddTable(self._magnitude)

    def _magnitude(self, z: np.ndarray) -> np.ndarray:
        a = 1 / self.shape
        share = scipy.special.erf(np.minimum(z, 1) / np.sqrt(2))
        first = share * scipy.special.gamma(a + 1)  # the series' first term, where its power 1/a would underflow
        centre = np.where(first ** (1 / a) > 1e-250, scipy.special.gammaincinv(a, share) ** a, first)
        tail = scipy.special.gammainccinv(a, scipy.special.erfc(np.maximum(z, 1) / np.sqrt(2))) ** a
        spread = np.exp((scipy.special.gammaln(3 * a) - scipy.special.gammaln(a)) / 2)
        return np.where(z < 1, centre, tail) / spread

    def from_normal(self, z):
        return self.table(z)

    def excess_kurtosis(self) -> float:
        a = 1 / self.shape
        return float(
            np.exp(scipy.special.gammaln(5 * a) + scipy.special.gammaln(a) - 2 * scipy.special.gammaln(3 * a)) - 3
        )


class Quantile(AbstractNormalMap):
    """Any law, by its quantile function below the median and, if it is not symmetric, above it.

    ``lower(p)`` takes p in (0, 1/2] and gives the quantile of p; ``upper(q)`` takes q in (0, 1/2] and gives the
    quantile of 1 - q, default ``-lower(q)``. Tails are thus reached without rounding 1 - q to 1. The law is shifted
    and scaled to mean 0 and variance 1, by quadrature.
    """

    lower: Callable = eqx.field(static=True)
    upper: Callable | None = eqx.field(static=True)
    shift: Leaf
    scale: Leaf

    def __init__(self, lower: Callable, upper: Callable | None = None):
        if not callable(lower) or not (upper is None or callable(upper)):
            raise setting_error(
                Quantile, "upper" if callable(lower) else "lower", upper if callable(lower) else lower, "a function"
            )
        self.lower, self.upper = lower, upper
        self.shift, self.scale = np.zeros(()), np.ones(())
        z, weight = normal_nodes()
        core = weight > 1e-300  # beyond it quantile functions lose their last digits, and nothing is left to add
        x, weight = self._exactly(z[core]), weight[core]
        if not np.all(np.isfinite(x)) or np.any(np.diff(x) < -1e-9 * np.abs(x[1:])):
            raise setting_error(Quantile, "lower", lower, "a finite, increasing function on (0, 1/2]")
        shift = np.sum(weight * x)
        variance = np.sum(weight * (x - shift) ** 2)
        last = weight[-1] * x[-1] ** 2
        if not np.isfinite(variance) or variance <= 0 or last > 1e-6 * variance:
            raise setting_error(
                Quantile, "lower", lower, "the quantile function of a law with a finite, positive variance"
            )
        self.shift, self.scale = np.asarray(shift), np.asarray(np.sqrt(variance))

    @property
    def symmetric(self) -> bool:
        return self.upper is None

    def from_normal(self, z):
        tail = jnp.maximum(normal_tail(z) / 2, jnp.finfo(z.dtype).tiny)
        above = -self.lower(tail) if self.upper is None else self.upper(tail)
        x = jnp.where(z < 0, self.lower(tail), above)
        return (x - jnp.asarray(self.shift, z.dtype)) / jnp.asarray(self.scale, z.dtype)


MARGINALS = (Normal, Erf, Algebraic, Uniform, Laplace, Bernoulli, StudentT, GeneralizedNormal)
