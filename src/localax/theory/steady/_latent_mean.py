"""Copulas at a flat field: everything given the latent field without its mean, which is integrated out.

Z = z + t 1 with t normal of variance tau^2 = lambda_Z(0)/N, independent of z. For an increasing map m the sum
S(t) = sum_i m(z_i + t) increases in t and vanishes once, at t*(z). Hence, with X at t*,

    p_S(0) E(|X_k|^2 | S = 0) = E |X_k|^2 phi_tau(t*)/S'(t*),    E|S| = E int |S(t)| phi_tau(t) dt,

expectations over z alone. They hardly vary, and most of that is explained by quantities of known mean (controls):
powers of the first waves of z and their products, and what the map adds to a linear one. Float32 is enough for one
sample, sums of samples are in float64.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._math import hermite_powers, normal_nodes, spectrum
from ..._types import Array, Float, Key
from ...spec import checked_count
from ...stimuli import AbstractCopula, AbstractNormalMap

CHUNK = 2**19
"""Pixels at a time: some 50 MB."""
WAVES = 6
"""So many of the strongest waves of the latent field are controls."""
NODES = 8
"""Nodes on either side of t*: with 14 the rates change by 1e-7."""
PIECES = 12
"""Nodes between the roots of two fields."""
NEAR = 1e-5
"""Newton's method ends with a step below this: the next would be below rounding."""
MOST = 60
"""Steps at most; halving alone would reach float32's rounding in 30."""
HEAVIEST = 0.05
"""A mean of which one sample makes up this share has an error that nobody knows."""
LOST = 1e20
"""A term of this size has been divided by a slope that float32 has rounded away, as at gain 1e6: nobody knows it."""
FLAT = 1e-10
"""A latent field of which less than this share varies over the pixels is one number."""

Samples = Float[Array, "n pixels"]
Flat = Float[Array, " n"]


class Averages(NamedTuple):
    """Means, their variances and their covariances each with one other; the variances are NaN where not known."""

    mean: Float[np.ndarray, " terms"]
    variance: Float[np.ndarray, " terms"]
    covariance: Float[np.ndarray, " terms"]


class Law(NamedTuple):
    """What the compiled program needs of a copula, as arrays: another gain or lengthscale is not compiled again."""

    field: Any
    map: AbstractNormalMap
    tau: Any
    """Standard deviation of the latent mean."""
    variance: Any
    """Of a pixel of the latent field without its mean; below, x is such a pixel."""
    slope: Any
    """Of the linear part of m(x), and the mean of m'(x)."""
    bend: Any
    """Of the quadratic part of m'(x)."""
    waves: Any
    """Places of the controls in the half spectrum, flattened."""
    power: Any
    """Mean powers of these waves."""
    powers: Any
    """Mean powers of all waves of the half spectrum."""
    rest: Any
    """Mean powers, flat first, of what m adds to its linear part."""
    whole: Any
    """Variance of the mean square of the pixels x."""


# The law in numbers ---------------------------------------------------------------------------------------------------


def _law(stimulus: AbstractCopula) -> tuple[Law, tuple[float, ...]]:
    """The numbers, and the variance of each control wave's power: 2 where a wave is its own mirror image, else 1."""
    row = np.asarray(stimulus.latent.row, float)
    modes = np.maximum(spectrum(row), 0)
    tau, size = math.sqrt(modes.flat[0] / row.size), row.size
    modes.flat[0] = 0
    covariance = np.fft.ifftn(modes).real
    variance = covariance.flat[0]
    if variance < FLAT:
        raise setting_error("theory", "task", "a field that is the same at every pixel", "of fields that have waves")
    nodes, weight = normal_nodes()
    values = np.asarray(_mapped(stimulus.marginal, jnp.asarray(math.sqrt(variance) * nodes)))
    first, third = (float(np.sum(weight * values * h)) for h in (nodes, nodes**3 - 3 * nodes))
    rest = spectrum(_rest_covariance(values - first * nodes, weight, covariance / variance))
    own, places, spread = _strongest(modes)
    law = Law(
        stimulus.latent.field, stimulus.marginal, tau, variance, first / math.sqrt(variance),
        third / (2 * variance**1.5), places, size * modes.ravel()[own],
        size * modes[..., : modes.shape[-1] // 2 + 1].ravel(), size * rest.ravel()[np.append(0, own)],
        2 * np.mean(covariance**2),
    )  # fmt: skip
    return law, spread


@jax.jit
def _mapped(marginal: AbstractNormalMap, z: Any) -> Any:
    return marginal.from_normal(z)


def _rest_covariance(values: np.ndarray, weight: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Covariance with pixel 0 of a function without linear part; what 400 orders leave out is put on the next one."""
    powers = hermite_powers(values)
    left = max(float(np.sum(weight * values**2) - powers.sum()), 0.0)
    return np.asarray(np.polynomial.Polynomial([*powers, left])(correlation))


def _strongest(modes: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """The strongest waves, one of each pair of mirror images: their places in the spectrum and in the half of it."""
    index, sides = np.indices(modes.shape).reshape(modes.ndim, -1), np.array(modes.shape)[:, None]
    mirror = np.asarray(np.ravel_multi_index(tuple(-index % sides), modes.shape))
    own = np.arange(modes.size)
    inside = (index[-1] <= modes.shape[-1] // 2) & (modes.ravel() > 1e-6 * modes.max())
    single = inside & ((own <= mirror) | (index[-1][mirror] > modes.shape[-1] // 2))
    chosen = np.flatnonzero(single)
    chosen = chosen[np.argsort(-modes.ravel()[chosen], kind="stable")][:WAVES]
    half = (*modes.shape[:-1], modes.shape[-1] // 2 + 1)
    places = np.asarray(np.ravel_multi_index(tuple(index[:, chosen]), half))
    return chosen, places, tuple(2.0 if mirror[c] == c else 1.0 for c in chosen)


def _unfold(half: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A whole spectrum that is its own mirror image from the half that real FFTs give."""
    folded = half.reshape(*shape[:-1], shape[-1] // 2 + 1)
    index = np.indices(shape)
    beyond = index[-1] > shape[-1] // 2
    return folded[tuple(np.where(beyond, -i % side, i) for i, side in zip(index, shape, strict=True))]


# Controls -------------------------------------------------------------------------------------------------------------


def _controls(law: Law, spread: tuple[float, ...], z: Samples, shape: tuple[int, ...]) -> Float[Array, "n controls"]:
    """1, and quantities of mean 0, in float64: in float32 the rounding of their means would matter.

    m(x) = slope x + R(x) and m'(x) = slope + bend (x^2 - variance) + Q(x), where R has no linear and Q no constant and
    no quadratic part: so products of R with z, and of Q with powers, have mean 0, and |R_k|^2 a known one.
    """
    z = jnp.asarray(z, jnp.float64)
    x, dx = jax.jvp(law.map.from_normal, (z,), (jnp.ones_like(z),))
    places, size = jnp.asarray(law.waves), z.shape[1]
    own, other = _half_waves(z, shape)[:, places], _half_waves(x - law.slope * z, shape)[:, jnp.append(0, places)]
    power = jnp.abs(own) ** 2 / law.power - 1
    square = z**2 - law.variance
    whole = jnp.mean(square, 1, keepdims=True)
    steep = jnp.mean(dx - law.slope - law.bend * square, 1, keepdims=True)
    one, two = np.tril_indices(len(spread))
    pairs = power[:, one] * power[:, two] - np.where(one == two, np.array(spread)[one], 0)
    extra = (jnp.abs(other) ** 2 - law.rest) / size
    mixed = jnp.real(jnp.conj(own) * other[:, 1:]) / size
    wholes = [whole, whole**2 - law.whole, power * whole - 2 * law.power / size**2]
    return jnp.concatenate([jnp.ones_like(whole), power, pairs, *wholes, steep, power * steep, extra, mixed], axis=1)


def _half_waves(x: Samples, shape: tuple[int, ...]) -> Any:
    axes = tuple(range(1, 1 + len(shape)))
    return jnp.fft.rfftn(x.reshape(-1, *shape), axes=axes).reshape(len(x), -1)


# One sample -----------------------------------------------------------------------------------------------------------


def _root(law: Law, z: Samples, weights: Any) -> Flat:
    """Where sum_i weights_i m(z_i + t) = 0, for weights > 0: Newton's method between bounds that close in."""

    def step(state):
        count, t, low, high, _ = state
        x, dx = jax.jvp(law.map.from_normal, (z + t[:, None],), (jnp.ones_like(z),))
        total, slope = jnp.sum(weights * x, 1), jnp.sum(weights * dx, 1)
        low, high = jnp.where(total <= 0, t, low), jnp.where(total >= 0, t, high)
        new = t - total / slope
        new = jnp.where((new >= low) & (new <= high), new, (low + high) / 2)
        return count + 1, new, low, high, jnp.max(jnp.abs(new - t))

    start = (0, jnp.zeros_like(z[:, 0]), -jnp.max(z, 1), -jnp.min(z, 1), jnp.ones((), z.dtype))
    return jax.lax.while_loop(lambda state: (state[0] < MOST) & (state[4] > NEAR), step, start)[1]


def _mean_size(law: Law, z: Samples, t: Flat) -> Flat:
    """int |S| phi_tau, on either side of the root by Gauss's rule for exp(-s^2/2) on s > 0."""
    s, weight = (np.concatenate([a, b]) for a, b in zip(*(_half_rule(NODES),) * 2, strict=True))
    sign = np.repeat([1.0, -1.0], NODES)
    tau, dtype = jnp.asarray(law.tau, z.dtype), z.dtype

    def one(total, node):
        s, weight = node
        size = jnp.abs(jnp.sum(law.map.from_normal(z + (t + tau * s)[:, None]), 1))
        return total + weight * size * jnp.exp(-((t / tau) ** 2) / 2 - s * t / tau), None

    nodes = (jnp.asarray(s * sign, dtype), jnp.asarray(weight / math.sqrt(2 * math.pi), dtype))
    return jax.lax.scan(one, jnp.zeros_like(t), nodes)[0]


@functools.cache
def _half_rule(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's rule for the weight exp(-s^2/2) on s > 0, by its three-term recurrence (Stieltjes)."""
    x, w = np.polynomial.legendre.leggauss(200)
    s, w = 6 * (x + 1), 6 * w * np.exp(-18 * (x + 1) ** 2)
    before, now, norm = np.zeros_like(s), np.ones_like(s), np.sum(w)
    diagonal, beside = [], [norm]
    for _ in range(order):
        diagonal.append(np.sum(w * s * now**2) / norm)
        beside_now = beside[-1] if len(diagonal) > 1 else 0
        before, now = now, (s - diagonal[-1]) * now - beside_now * before
        norm, last = np.sum(w * now**2), norm
        beside.append(norm / last)
    off = np.sqrt(beside[1:order])
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return nodes, beside[0] * vectors[0] ** 2


def _density(law: Law, t: Flat) -> Flat:
    tau = jnp.asarray(law.tau, t.dtype)
    return jnp.exp(-((t / tau) ** 2) / 2) / (tau * math.sqrt(2 * math.pi))


def _power_terms(law: Law, z: Samples, shape: tuple[int, ...], given: tuple[Any, ...]) -> Float[Array, "n terms"]:
    """|X_k|^2 phi(t*)/S'(t*) over the half spectrum, and the mean size of the sum."""
    del given
    t = _root(law, z, 1)
    x, dx = jax.jvp(law.map.from_normal, (z + t[:, None],), (jnp.ones_like(z),))
    density = (_density(law, t) / jnp.maximum(jnp.sum(dx, 1), 1e-30))[:, None]
    power = jnp.abs(_half_waves(x, shape)) ** 2
    # Every wave is its own best control: what a linear map would give, less its mean.
    linear = jnp.abs(_half_waves(z, shape)) ** 2 - jnp.asarray(law.powers, z.dtype)
    share = jnp.asarray(law.slope / (law.tau * math.sqrt(2 * math.pi) * z.shape[1]), z.dtype)
    return jnp.concatenate([power * density - share * linear, _mean_size(law, z, t)[:, None]], 1)


def _moved_terms(law: Law, z: Samples, shape: tuple[int, ...], given: tuple[Any, ...]) -> Float[Array, "n terms"]:
    """N <v, f(1 + eps v)>/(eps |v|^2) for every eps, then 2 <1, f(1 + eps v)>, means over the waves v, given z.

    f is that at 1 and an integral from root to root: -int X phi_tau dt from t* of S to t* of <1 + eps v, X>.
    """
    del shape
    sizes, waves = (jnp.asarray(a, z.dtype) for a in given)
    start = _root(law, z, 1)
    still = _mean_size(law, z, start)
    nodes, weights = (jnp.asarray(a, z.dtype) for a in np.polynomial.legendre.leggauss(PIECES))

    def one(eps, wave):
        half = (_root(law, z, 1 + eps * wave) - start) / 2

        def piece(total, node):
            t = start + half * (1 + node[0])
            x, density = law.map.from_normal(z + t[:, None]), node[1] * _density(law, t)
            return (total[0] + density * (x @ wave), total[1] + density * jnp.sum(x, 1)), None

        along, flat = jax.lax.scan(piece, (jnp.zeros_like(start), jnp.zeros_like(start)), (nodes, weights))[0]
        return -half / eps * along * wave.size / jnp.sum(wave**2), still - 2 * half * flat

    pairs = jax.lax.map(lambda eps: jax.lax.map(lambda wave: one(eps, wave), waves), sizes)
    return jnp.concatenate([jnp.mean(part, 1) for part in pairs]).T


# Many samples ---------------------------------------------------------------------------------------------------------

Terms = Callable[[Law, Samples, tuple[int, ...], tuple[Any, ...]], Any]


@functools.partial(jax.jit, static_argnames=("terms", "spread", "shape", "n"))
def _sums(
    law: Law,
    key: Key,
    given: tuple[Any, ...],
    *,
    terms: Terms,
    spread: tuple[float, ...],
    shape: tuple[int, ...],
    n: int,
) -> tuple[Any, ...]:
    """What a regression of the terms on the controls needs of a chunk of samples, and its largest term.

    Terms come with the sizes that they are divided by behind them: one for all, or one for each.
    """
    z = law.field.draw(key, n, jnp.float32).reshape(n, -1)
    z = z - jnp.mean(z, 1, keepdims=True)
    controls = jnp.asarray(_controls(law, spread, z, shape), jnp.float64)
    values = jnp.asarray(terms(law, z, shape, given), jnp.float64)
    largest = jnp.max(jnp.sum(jnp.abs(values[:, : values.shape[1] // 2]), 1))
    beside = values[:, _partners(values.shape[1], bool(given))]
    return controls.T @ controls, controls.T @ values, jnp.sum(values**2, 0), jnp.sum(values * beside, 0), largest


def _partners(terms: int, each: bool) -> np.ndarray:
    """Which size every term is divided by."""
    return np.tile(np.arange(terms // 2, terms), 2) if each else np.full(terms, terms - 1)


def _averages(stimulus: AbstractCopula, terms: Terms, given: tuple[Any, ...], plan: "Plan") -> Averages:
    law, spread = _law(stimulus)
    pixels = math.prod(stimulus.shape)
    n = min(checked_count("theory", plan.samples, 200), max(CHUNK // pixels, 16))
    sums: list[Any] = [0.0] * 4
    largest, count = 0.0, -(-plan.samples // n)
    key = jax.random.fold_in(jax.random.key(plan.seed), plan.stream)
    for index in range(count):
        *found, top = _sums(
            law, jax.random.fold_in(key, index), given, terms=terms, spread=spread, shape=stimulus.shape, n=n
        )
        sums = [a + np.asarray(b) for a, b in zip(sums, found, strict=True)]
        largest = max(largest, float(top))
    moments = sums[1]
    known = largest < LOST and largest < HEAVIEST * np.sum(np.abs(moments[0, : moments.shape[1] // 2]))
    found = _regressed(sums, _partners(moments.shape[1], bool(given)), n * count)
    variance = found.variance if known else np.full(found.variance.shape, np.nan)
    return Averages(found.mean, variance, found.covariance)


def _regressed(sums: list[Any], partners: np.ndarray, count: int) -> Averages:
    """The means at controls of 0, by least squares; controls that are multiples of others drop out."""
    gram, moments, squares, crossed = sums
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    inverse = np.linalg.pinv(gram * np.outer(scale, scale), rcond=1e-10, hermitian=True) * np.outer(scale, scale)
    weights = inverse @ moments
    spread = np.maximum(squares - np.sum(weights * moments, 0), 0) / count
    common = (crossed - np.sum(weights[:, partners] * moments, 0)) / count
    return Averages(weights[0], spread * inverse[0, 0], common * inverse[0, 0])


class Plan(NamedTuple):
    """How many samples, and from which seed; ``stream`` keeps the classes of a task apart."""

    samples: int
    seed: int
    stream: int


def latent_power(stimulus: AbstractCopula, plan: Plan) -> tuple[Averages, Averages]:
    """p_S(0) E(|X_k|^2 | S = 0), shaped like the pixels, and E|S|, with the variance of this."""
    found = _averages(stimulus, _power_terms, (), plan)
    whole = Averages(*(_unfold(part[:-1], stimulus.shape) for part in found))
    return whole, Averages(*(part[-1] for part in found))


def latent_quotient(stimulus: AbstractCopula, sizes: np.ndarray, waves: np.ndarray, plan: Plan) -> Averages:
    """N <v, f(1 + eps v)>/(eps |v|^2) for every eps of ``sizes``, and behind them 2 <1, f(1 + eps v)>."""
    return _averages(stimulus, _moved_terms, (sizes, waves.reshape(len(waves), -1)), plan)
