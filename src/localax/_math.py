"""Small pieces of mathematics that several rooms share: circulants, the real DFT, quadrature under a normal weight."""

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ._types import Array, Float, Leaf

Pixels = Float[Array, "..."] | Float[np.ndarray, "..."]

HAS_EMITTERS = jax.__version_info__ < (0, 11)
"""Whether XLA lets one choose how operations are fused; later ones do not."""
BRIEF: dict[str, Any] = {"xla_backend_optimization_level": 1}
"""What XLA is told of programs that run once, or briefly: they take half the time to compile."""
LASTING: dict[str, Any] = {}
"""And of programs that run for seconds, whatever a process says of its others: they take half the time to run."""
if HAS_EMITTERS:
    BRIEF["xla_cpu_use_fusion_emitters"], LASTING["xla_cpu_use_fusion_emitters"] = False, True
INSTANT: dict[str, Any] = {**BRIEF, "xla_backend_optimization_level": 0}
"""And of programs that run once, for a picture: they take a fifth of the time to compile."""
if HAS_EMITTERS:
    INSTANT["xla_cpu_parallel_codegen_split_count"] = 1

F = TypeVar("F", bound=Callable[..., Any])


def brief_jit(function: F) -> F:
    """``eqx.filter_jit`` for programs that run once, or briefly; not to be called inside of another one."""
    return eqx.filter_jit(function, compiler_options=BRIEF)  # pyright: ignore[reportCallIssue, reportReturnType]


# Circulants -----------------------------------------------------------------------------------------------------------


def ring_distance(n: int) -> Float[np.ndarray, " n"]:
    """Distance of every pixel of a ring from pixel 0, the short way round."""
    d = np.arange(n)
    return np.minimum(d, n - d).astype(float)


def spectrum(row: Float[np.ndarray, "*pixels"]) -> Float[np.ndarray, "*pixels"]:
    """Eigenvalues of the circulant matrix whose first row is symmetric under reflection."""
    return np.fft.fftn(row).real


def circulant(
    row: Float[Array, " n"] | Float[np.ndarray, " n"],
) -> Float[Array, "n n"] | Float[np.ndarray, "n n"]:
    """The circulant matrix with entries ``row[(i - j) % n]``."""
    n = row.shape[-1]
    i = np.arange(n)
    return row[(i[:, None] - i[None, :]) % n]


def dense_circulant(
    row: Float[np.ndarray, "*pixels"], corner: tuple[int, ...] | None = None
) -> Float[np.ndarray, "n n"]:
    """The covariance matrix of a ring or torus, or of a corner of it, pixels flattened, from its covariance with
    pixel 0."""
    shape = row.shape
    index = np.indices(corner or shape).reshape(len(shape), -1)
    offset = tuple((axis[:, None] - axis[None, :]) % side for axis, side in zip(index, shape, strict=True))
    return row[offset]


def circular_convolve(x: Pixels, kernel: Pixels, ndim: int) -> Pixels:
    """sum_j x_j kernel_(i-j) over the last ``ndim`` axes, a ring or torus; the axes before them broadcast."""
    return _fourier_product(x, kernel, ndim, reverse=False)


def circular_correlate(x: Pixels, kernel: Pixels, ndim: int) -> Pixels:
    """sum_j x_j kernel_(j-i): the answer to x of the kernel moved to every place i, over the last ``ndim`` axes."""
    return _fourier_product(x, kernel, ndim, reverse=True)


def _fourier_product(x: Pixels, kernel: Pixels, ndim: int, *, reverse: bool) -> Pixels:
    """By numpy for numpy's arrays, which keeps float64 whatever JAX is set to, and by JAX for its own."""
    xp = jnp if isinstance(x, jax.Array) or isinstance(kernel, jax.Array) else np
    axes = tuple(range(-ndim, 0))
    moved = xp.fft.rfftn(kernel, axes=axes)
    waves = xp.fft.rfftn(x, axes=axes) * (xp.conj(moved) if reverse else moved)
    return xp.fft.irfftn(waves, s=x.shape[-ndim:], axes=axes).astype(xp.result_type(x, kernel))


def real_dft(n: int) -> Float[np.ndarray, "n n"]:
    """Orthogonal real Fourier basis, one mode a row: constant, then cosine and sine of each frequency.

    The pairs carry a factor sqrt(2) that the network notes's Eqs. 33 to 35 leave out.
    """
    position = 2 * np.pi * np.arange(n) / n
    rows = [np.full(n, 1 / np.sqrt(n))]
    for k in range(1, (n - 1) // 2 + 1):
        rows += [np.sqrt(2 / n) * np.cos(k * position), np.sqrt(2 / n) * np.sin(k * position)]
    if n % 2 == 0:
        rows.append(np.cos(n // 2 * position) / np.sqrt(n))
    return np.stack(rows)


# Quadrature -----------------------------------------------------------------------------------------------------------

_FAR = 38.0
"""Beyond this many standard deviations the normal density is no float64 number."""


@functools.cache
def normal_nodes(order: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for expectations under a standard normal.

    Panels shrink geometrically towards 0, where steep nonlinearities such as erf(100 z) turn, and reach so far
    out that integrands growing almost as fast as the density falls (Kur close to k = 2) are complete.
    """
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-18.0, 0.0), np.arange(1.0, _FAR + 0.5, 0.5)])
    t, weight = np.polynomial.legendre.leggauss(order)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    z = (centre[:, None] + half[:, None] * t).ravel()
    w = (half[:, None] * weight).ravel() * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.concatenate([-z[::-1], z]), np.concatenate([w[::-1], w])


@functools.cache
def _hermite_functions(terms: int) -> np.ndarray:
    """Normalised Hermite polynomials at the normal nodes, times exp(-z^2/4) so that none overflows."""
    z, _ = normal_nodes()
    rows = [np.exp(-(z**2) / 4), z * np.exp(-(z**2) / 4)]
    for m in range(1, terms - 1):
        rows.append((z * rows[m] - np.sqrt(m) * rows[m - 1]) / np.sqrt(m + 1))
    return np.stack(rows)


def hermite_coefficients(values: Float[np.ndarray, " nodes"], terms: int = 400) -> Float[np.ndarray, " terms"]:
    """Coefficients of T(Z) in the normalised Hermite polynomials, given T at the normal nodes."""
    z, w = normal_nodes()
    return _hermite_functions(terms) @ (values * w * np.exp(z**2 / 4))


def hermite_powers(values: Float[np.ndarray, " nodes"], terms: int = 400) -> Float[np.ndarray, " terms"]:
    """Power of T(Z) in each Hermite degree, given T at the normal nodes: Cov[T(Z), T(Z')] = sum_m c_m r^m."""
    return hermite_coefficients(values, terms) ** 2


@functools.cache
def unit_nodes(depth: int, order: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Tail probabilities q in (0, 1) and weights for integrals over them, refined towards q = 2^-depth and q = 1."""
    t, weight = np.polynomial.legendre.leggauss(order)
    towards_one = 1 - 4.0 ** -np.arange(1.0, 13.0)
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-float(depth), -0.5, 1.25), towards_one, [1.0]])
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (centre[:, None] + half[:, None] * t).ravel(), (half[:, None] * weight).ravel()


# An odd increasing function by a table --------------------------------------------------------------------------------

_STEP = 1 / 256
_NEAR = 1e-9
_LOG_NEAR = math.log(_NEAR)  # a Python float: numpy's would turn float32 into float64


class OddTable(eqx.Module):
    """An odd increasing function of z, stored as log(f(z)/z) on a grid in log z, with cubic Hermite pieces between.

    The logarithms keep the relative error even (below 1e-9 up to z = 20 for the quantile functions here) where f
    has a cusp at 0 and where it grows almost like exp(z^2/4), in float32 as in float64.
    """

    value: Leaf
    slope: Leaf

    def __init__(self, magnitude: Callable[[np.ndarray], np.ndarray]):
        """``magnitude(z)``: f at positive z, by numpy, in float64."""
        grid = np.arange(_LOG_NEAR, np.log(_FAR - 1), _STEP)
        self.value = np.log(magnitude(np.exp(grid))) - grid
        self.slope = _differences(self.value)

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        value, slope = jnp.asarray(self.value, z.dtype), jnp.asarray(self.slope, z.dtype)
        position = (jnp.log(jnp.maximum(jnp.abs(z), _NEAR)) - _LOG_NEAR) / _STEP
        i = jnp.minimum(position.astype(jnp.int32), value.shape[-1] - 2)
        u = jnp.minimum(position - i, 1)
        ends = u * u * (3 - 2 * u)
        bend = u * (1 - u) * ((1 - u) * slope[i] - u * slope[i + 1])
        return z * jnp.exp(value[i] + ends * (value[i + 1] - value[i]) + bend)


def _differences(values: np.ndarray) -> np.ndarray:
    """Derivative per grid step, of sixth order inside and second at the ends."""
    slopes = np.gradient(values, edge_order=2)
    slopes[3:-3] = np.convolve(values, np.array([1.0, -9.0, 45.0, 0.0, -45.0, 9.0, -1.0]) / 60, mode="valid")
    return slopes


def normal_tail(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(|Z| > |z|), accurate far out, where 1 - Phi(z) is not."""
    return jax.scipy.special.erfc(jnp.abs(z) * np.sqrt(0.5).astype(z.dtype))


def sphere_coordinate_cdf(x: np.ndarray, dimension: int) -> np.ndarray:
    """Distribution function of one coordinate of a uniform point on the unit sphere."""
    inside = np.clip(x, -1, 1)
    return np.asarray(0.5 + 0.5 * np.sign(inside) * scipy.special.betainc(0.5, (dimension - 1) / 2, inside**2))


BINS = 64
"""Bins per e-fold of |x| into which many values are gathered."""


def gathered(magnitude: Float[np.ndarray, " n"], weight: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    """Two nodes for every bin of log |x|, with the bin's moments 0 to 3: a Gauss rule for the values in it.

    x erf(x t), as a function of log x, has a fourth derivative below 6.93 x whatever t is, so that the error of phi
    is at most 6.93/4! (h^2/8)^2 E|X| = 2.7e-10 E|X| for bins of width h.
    """
    positive = (magnitude > 0) & (weight > 0)
    logs, weight = np.log(magnitude[positive]), weight[positive]
    index = np.floor(logs * BINS).astype(int)
    low = index.min()
    offset = logs - (index + 0.5) / BINS
    m0, m1, m2, m3 = (np.bincount(index - low, weight * offset**p) for p in range(4))
    used = m0 > 0
    m0, centre = m0[used], ((np.arange(m0.size) + low + 0.5) / BINS)[used]
    mean, second, third = m1[used] / m0, m2[used] / m0, m3[used] / m0
    spread = np.maximum(second - mean**2, 0)
    lean = (third - 3 * mean * spread - mean**3) / np.where(spread < 1e-13, np.inf, spread)
    half = np.sqrt(lean**2 / 4 + np.where(spread < 1e-13, 0, spread))
    share = np.where(half > 0, 0.5 - lean / (4 * np.where(half > 0, half, 1)), 1.0)
    nodes = np.concatenate([centre + mean + lean / 2 + half, centre + mean + lean / 2 - half])
    weights = np.concatenate([m0 * share, m0 * (1 - share)])
    kept = weights > 0
    return np.exp(nodes[kept]), weights[kept]
