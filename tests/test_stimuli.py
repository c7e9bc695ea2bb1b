"""Elliptical laws, pulses, stimuli made from others, and somebody's own data, against enumeration and dense algebra."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from helpers import assert_within, matrix, statements
from localax.stimuli import (
    NLGP,
    Affine,
    BlockPulse,
    CentreSurround,
    Copula,
    Elliptical,
    Empirical,
    Exponential,
    Filtered,
    Gaussian,
    GaussianClone,
    Ising,
    Kur,
    NaturalPatches,
    Normal,
    Quantile,
    Radial,
    RadialStudentT,
    Shell,
    SinglePulse,
    Surface,
)

KEY = jax.random.key(7)


# Elliptical -----------------------------------------------------------------------------------------------------------


def constant(radial, dimension: int) -> float:
    """C = E|S|/sd(S) of any projection S (B-06)."""
    ratio = special.gamma(dimension / 2) / (math.sqrt(math.pi) * special.gamma((dimension + 1) / 2))
    first, second = radial.moment(1, dimension), radial.moment(2, dimension)
    return math.sqrt(dimension) * first / math.sqrt(second) * ratio


@pytest.mark.parametrize(
    ("radial", "printed"), [(RadialStudentT(3), 2 / math.pi), (Surface(), 0.802886), (Shell(), 0.784601)]
)
def test_constants_of_b06(radial, printed):
    assert constant(radial, 40) == pytest.approx(printed, abs=5e-7)
    # The same number from the law of one pixel: E|X| is twice the area above its distribution function.
    law = Elliptical(40, 1, radial).marginal
    x = np.concatenate([np.linspace(0, 10, 2001), np.geomspace(10, 1e5, 2001)[1:]])
    area = 2 * integrate.simpson(1 - law.cdf(x), x=x)
    assert area == pytest.approx(printed, abs=3e-5)  # the 1e-5 of interpolated distribution functions


def test_moments_of_the_shell():
    assert Shell().moment(1, 40) == pytest.approx(2 + math.log(2), rel=1e-10)
    assert Shell().moment(2, 40) == pytest.approx(4 + 4 * math.log(2) + math.pi**2 / 12, rel=1e-10)

    def density(r):  # as printed in the paper's section 4.3
        return 4 * math.exp(2 * r + 4) / (math.exp(2 * r) + math.exp(4)) ** 2

    assert integrate.quad(density, 2, 40)[0] == pytest.approx(1, abs=1e-9)
    for order in (1, 2, 3, 4):
        moment = integrate.quad(lambda r, m: r**m * density(r), 2, 40, args=(order,))[0]
        assert Shell().moment(order, 40) == pytest.approx(moment, rel=1e-8)


@pytest.mark.parametrize("df", [2.5, 3.0, 7.0])
def test_radius_of_student_t(df):
    """R^2/40 has Fisher's F law: its moments by quadrature of scipy's density, infinite where they diverge."""
    for order in (1, 2, 4):
        found = RadialStudentT(df).moment(order, 40)
        if order >= df:
            assert found == math.inf
            continue
        s = np.linspace(-20, 60 / (df - order), 40001)  # in s = log F; what is left out is e^-30
        density = stats.f(40, df).pdf(np.exp(s)) * np.exp(s)
        assert found == pytest.approx(integrate.simpson((40 * np.exp(s)) ** (order / 2) * density, x=s), rel=1e-6)
    law = Elliptical(40, 1, RadialStudentT(df)).marginal
    x = np.linspace(-6, 6, 13)
    np.testing.assert_allclose(law.cdf(x), stats.t(df).cdf(x * stats.t(df).std()), atol=2e-9)


@pytest.mark.parametrize("df", [1e6, 1e10, 1e12])
def test_many_degrees_of_freedom_keep_their_digits(df):
    """E R^2 = n df/(df - 2), to 1e-9 as scipy's betaln; a difference of log-gammas is 4% off at 1e14 degrees."""
    assert RadialStudentT(df).moment(2, 8) == pytest.approx(8 * df / (df - 2), rel=2e-9)


@pytest.mark.parametrize("size", [40, (5, 8)])
def test_a_surface_is_a_surface(size):
    """X' S^-1 X is the same for every sample: the square of the radius, 40 when the variance per pixel is 1."""
    stimulus = Elliptical(size, 0.9, Surface())
    x = np.asarray(stimulus.sample(KEY, 200), float).reshape(200, -1)
    radius = np.einsum("ni,ij,nj->n", x, np.linalg.inv(stimulus.covariance_matrix()), x)
    np.testing.assert_allclose(radius, 40, rtol=1e-5)  # float32 rounding, times the condition of S
    assert stimulus.marginal.excess_kurtosis() == pytest.approx(3 * 40 / 42 - 3, abs=1e-9)  # a sphere's coordinate


def test_radii_of_samples():
    """Whitened samples have radii with the law that was asked for: tanh(r - 2) for the shell."""
    stimulus = Elliptical(20, 0.9, Shell())
    x = np.asarray(stimulus.sample(KEY, 5000), float) / float(stimulus.scale)
    radius = np.sqrt(np.einsum("ni,ij,nj->n", x, np.linalg.inv(stimulus.covariance_matrix()), x))
    assert stats.kstest(radius, lambda r: np.tanh(np.maximum(r - 2, 0))).pvalue > 2e-9
    assert stimulus.marginal.excess_kurtosis() == pytest.approx(
        3 * Shell().moment(4, 20) / Shell().moment(2, 20) ** 2 * 20 / 22 - 3, rel=1e-9
    )


def test_elliptical_distribution_function():
    """One coordinate of the circle has the arcsine law, of a sphere in five dimensions the density 1 - x^2."""
    x = np.linspace(-1.6, 1.6, 161)
    circle = stats.arcsine(-math.sqrt(2), 2 * math.sqrt(2)).cdf(x)
    np.testing.assert_allclose(Surface().marginal(2).cdf(x), circle, atol=1e-3)  # what its docstring promises
    u = x / math.sqrt(5)
    np.testing.assert_allclose(Surface().marginal(5).cdf(x), 0.5 + 0.75 * (u - u**3 / 3), atol=1e-5)


@pytest.mark.parametrize(("dimension", "promised"), [(2, 1e-3), (5, 1e-5), (40, 1e-5)])
def test_the_chi_radius_makes_a_gaussian(dimension, promised):
    law = Radial(lambda q: jnp.asarray(stats.chi(dimension).isf(np.asarray(q)))).marginal(dimension)
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(law.cdf(x), stats.norm.cdf(x), atol=promised)
    assert law.excess_kurtosis() == pytest.approx(0, abs=1e-8)


def test_any_radius():
    chi = Radial(lambda q: jnp.sqrt(-2 * jnp.log(q)))  # of two dimensions
    assert chi.moment(2, 2) == pytest.approx(2, rel=1e-10)
    assert chi.moment(4, 2) == pytest.approx(8, rel=1e-10)
    assert Radial(lambda q: q**-0.3).moment(4, 40) == math.inf
    assert Radial(lambda q: q**-0.25).moment(4, 40) == math.inf
    assert Radial(lambda q: q**-0.24).moment(4, 40) == pytest.approx(25, rel=1e-6)
    with pytest.raises(ValueError, match="finite, positive mean"):
        Radial(lambda q: q**-0.5)


# Pulses ---------------------------------------------------------------------------------------------------------------


def single_pulses(size, shortest, longest, support, complement):
    """Every start, length and complement, each as likely."""
    low, high = support
    for length in range(shortest, longest + 1):
        for start in range(size):
            inside = np.isin(np.arange(size), np.arange(start, start + length) % size)
            yield np.where(inside, high, low)
            yield np.where(inside ^ complement, high, low)


@pytest.mark.parametrize("support", [(-1, 1), (0, 1)])
@pytest.mark.parametrize("complement", [True, False])
@pytest.mark.parametrize(("size", "shortest", "longest"), [(12, 2, 4), (9, 5, 8), (6, 3, 3), (2, 1, 1)])
def test_single_pulses_by_enumeration(size, shortest, longest, support, complement):
    stimulus = SinglePulse(size, shortest, longest, support, complement)
    every = np.array(list(single_pulses(size, shortest, longest, support, complement)), float)
    centred = every - every.mean()
    np.testing.assert_allclose(stimulus.covariance(), (centred[:, :1] * centred).mean(0), atol=1e-13)
    law = stimulus.marginal
    assert law.mean() == pytest.approx(every.mean(), abs=1e-13)
    assert law.variance() == pytest.approx(every.var(), abs=1e-13)
    assert law.excess_kurtosis() == pytest.approx(stats.kurtosis(every.ravel()), abs=1e-10)
    assert stimulus.sign_symmetric == (complement and support == (-1, 1))
    if size == 12:  # at most 72 patterns: one is missed with a chance below 1e-22
        assert {tuple(row) for row in np.asarray(stimulus.sample(KEY, 4000))} == {tuple(row) for row in every}


@pytest.mark.parametrize(("size", "length"), [(12, 3), (12, 5), (7, 2), (6, 6), (5, 1), (2, 2)])
def test_block_pulses_by_enumeration(size, length):
    same = np.zeros(size)
    for offset in range(size):
        block = (np.arange(size) + offset) % size // length
        same += block == block[0]
    stimulus = BlockPulse(size, length)
    np.testing.assert_allclose(stimulus.covariance(), same / size, atol=1e-13)
    if size in (12, 2):
        x = np.asarray(stimulus.sample(KEY, 4000), float)
        assert_within(x[:, :1] * x, same / size)


# Made from other stimuli ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [CentreSurround(0.7, 2, 0.5), [0.5, 1, 0.25, 0.1]], ids=["kernel", "taps"])
@pytest.mark.parametrize("stimulus", [NLGP(12, 1.2, 3), SinglePulse(12, 2, 4, (0, 1), False)])
def test_filtered_covariance_by_dense_algebra(stimulus, kernel):
    filtered = Filtered(stimulus, kernel)
    operator = matrix(np.asarray(filtered.taps))
    truth = operator @ matrix(stimulus.covariance()) @ operator.T
    np.testing.assert_allclose(matrix(filtered.covariance()), truth, atol=1e-12)
    np.testing.assert_allclose(filtered.covariance_matrix(), truth, atol=1e-12)
    np.testing.assert_allclose(np.diag(truth), 1, atol=1e-12)
    x = np.asarray(stimulus.sample(KEY, 50), float)
    np.testing.assert_allclose(filtered.sample(KEY, 50), x @ operator.T, atol=1e-4)  # float32 FFT of values up to 10
    np.testing.assert_allclose(filtered.mean(), np.full(12, stimulus.marginal.mean() * operator[0].sum()), atol=1e-12)


def test_taps_are_centred_on_the_pixel():
    taps = np.asarray(Filtered(Ising(8, 0), [0, 2, 1]).taps)
    np.testing.assert_allclose(taps, np.array([2, 1, 0, 0, 0, 0, 0, 0]) / math.sqrt(5), atol=1e-13)


def test_a_faint_stimulus_is_filtered_like_any_other():
    """What a filter leaves is told from what there is, not from 1."""
    faint = Filtered(Affine(Ising(8, 0.5), 1e-8), CentreSurround())
    np.testing.assert_allclose(faint.covariance(), Filtered(Ising(8, 0.5), CentreSurround()).covariance(), rtol=1e-9)


def test_centre_surround_kernel():
    row = CentreSurround(1, 3, 0.5).row((9, 10))
    y, x = np.meshgrid(*(np.minimum(np.arange(n), n - np.arange(n)) for n in (9, 10)), indexing="ij")
    narrow, wide = (np.exp(-(x**2 + y**2) / (2 * width**2)) for width in (1, 3))
    np.testing.assert_allclose(row, narrow / narrow.sum() - 0.5 * wide / wide.sum(), atol=1e-14)
    assert row.sum() == pytest.approx(0.5)


@pytest.mark.parametrize("stimulus", [Gaussian((5, 6), 0.8), Elliptical(20, 2, Shell())])
def test_filtering_keeps_gaussian_and_elliptical_laws(stimulus):
    filtered = Filtered(stimulus, CentreSurround(0.7, 2, 0.8))
    assert filtered.marginal.draws() == math.inf
    report = statements(filtered, 4000)
    assert report.ok, report


GAUSSIANS = {
    "copula": Copula(12, Exponential(2), Normal()),
    "clone": GaussianClone(Ising(12, 0.7)),
    "clone with a mean": GaussianClone(SinglePulse(12, 2, 4, (0, 1), False)),
    "filtered twice": Filtered(Gaussian(12, 1), [1, 2, 1]),
    "uneven": GaussianClone(Empirical(np.random.default_rng(3).normal(size=(200, 6)) * np.arange(1, 7) + 1)),
}


@pytest.mark.parametrize("name", GAUSSIANS)
def test_a_filtered_gaussian_is_gaussian_by_whatever_name(name):
    """Its pixels are normal, with the mean and the variances that a dense filter gives."""
    filtered = Filtered(GAUSSIANS[name], [1, -0.5])
    assert filtered.is_gaussian
    law, x = filtered.marginal, np.linspace(-3, 3, 13)
    operator = matrix(np.asarray(filtered.taps))
    centre, inner = operator @ GAUSSIANS[name].mean(), GAUSSIANS[name].covariance_matrix()
    spread = np.sqrt(np.diag(operator @ inner @ operator.T))
    np.testing.assert_allclose(law.cdf(x), [stats.norm.cdf(v, centre, spread).mean() for v in x], atol=1e-12)
    assert law.draws() == math.inf
    assert (filtered.elliptical_constant() is None) == bool(np.any(np.abs(centre) > 1e-9))


@pytest.mark.slow
def test_the_marginal_of_filtered_data_is_that_of_all_pixels():
    """Exact for data, which are few; for other laws estimated, from every pixel in turn, and only once."""
    data = np.random.default_rng(4).uniform(size=(300, 6)) ** 2 * np.arange(1, 7)
    filtered = Filtered(Empirical(data), [1.0, 2.0])
    every = data.astype(np.float32) @ matrix(np.asarray(filtered.taps)).T
    assert filtered.marginal.variance() == pytest.approx(every.var(), rel=1e-6)
    assert filtered.marginal.draws() == math.inf
    report = statements(filtered, 4000)
    assert report.ok, report
    patches = Filtered(NaturalPatches(8, "raw"), [1.0, -0.5])
    assert patches.marginal is patches.marginal
    report = statements(patches, 4000)
    assert report.ok, report


def test_a_skewed_marginal_makes_no_symmetric_copula():
    skewed = Copula(12, Exponential(1), Quantile(jnp.log, lambda q: jnp.log1p(-q)))  # -X is exponential
    assert not skewed.sign_symmetric
    report = statements(skewed, 4000)
    assert report.ok, report


@pytest.mark.parametrize(
    "stimulus", [Ising(12, -0.6), Kur(12, 1, 5), NLGP((4, 5), 0.8, 3), SinglePulse(12, 2, 4, (0, 1), False)]
)
def test_gaussian_clone(stimulus):
    clone = GaussianClone(stimulus)
    np.testing.assert_allclose(clone.covariance(), stimulus.covariance())
    assert clone.marginal.excess_kurtosis() == pytest.approx(0, abs=1e-12)
    assert clone.marginal.mean() == pytest.approx(stimulus.marginal.mean())
    assert clone.marginal.variance() == pytest.approx(stimulus.covariance().flat[0])
    report = statements(clone, 4000)
    assert report.ok, report


def uneven() -> np.ndarray:
    """Data as they come: pixels of different mean and spread, and one that never changes."""
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(6, 6))
    return np.c_[np.full(500, 3.0), rng.normal(size=(500, 6)) @ mixing + rng.normal(size=6)]


def test_gaussian_clone_of_uneven_data():
    data = uneven()
    clone = GaussianClone(Empirical(data))
    np.testing.assert_allclose(clone.covariance_matrix(), np.cov(data.T, bias=True), atol=1e-4)
    np.testing.assert_allclose(clone.mean(), data.mean(0), atol=1e-5)
    report = statements(clone, 4000)
    assert report.ok, report
    x = np.asarray(clone.sample(KEY, 4000), float)
    assert_within(x, data.mean(0), rounding=1e-5)
    # The law of one pixel is a mixture of seven normals: its moments by the law of total variance.
    spread, centre = data.var(0), data.mean(0)
    assert clone.marginal.variance() == pytest.approx(spread.mean() + centre.var(), rel=1e-5)
    # E(A + B)^4 = A^4 + 6 A^2 v + 3 v^2 for a normal B, re-derived from the moments 1, 0, v, 0, 3 v^2.
    apart = centre - centre.mean()
    fourth = np.mean(apart**4 + 6 * apart**2 * spread + 3 * spread**2)
    assert clone.marginal.excess_kurtosis() == pytest.approx(fourth / clone.marginal.variance() ** 2 - 3, rel=1e-4)


# Data -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 6), (300, 3, 4)])
def test_empirical(shape):
    data = np.random.default_rng(0).normal(size=shape).astype(np.float32) * np.arange(1, shape[-1] + 1)
    stimulus = Empirical(data)
    flat = data.reshape(len(data), -1)
    np.testing.assert_allclose(stimulus.covariance_matrix(), np.cov(flat.T, bias=True), atol=1e-5)
    np.testing.assert_allclose(stimulus.covariance().ravel(), np.cov(flat.T, bias=True)[0], atol=1e-5)
    np.testing.assert_allclose(stimulus.mean().ravel(), flat.mean(0), atol=1e-5)
    x = np.asarray(stimulus.sample(KEY, 20_000)).reshape(20_000, -1)
    rows = {tuple(row): i for i, row in enumerate(flat.astype(np.float32))}
    index = np.array([rows[tuple(row)] for row in x])  # every draw is one of the samples, bit for bit
    assert stats.chisquare(np.bincount(index, minlength=len(data))).pvalue > 2e-9
    assert not stimulus.shift_invariant
    assert not stimulus.sign_symmetric


@pytest.mark.slow
@pytest.mark.parametrize(("size", "treatment"), [(6, "raw"), ((3, 4), "whitened"), ((2, 2), "centre-surround")])
def test_natural_patches_over_every_position(size, treatment):
    stimulus = NaturalPatches(size, treatment)
    window = size if isinstance(size, tuple) else (1, size)
    images = np.asarray(stimulus.images, float)
    assert images.mean() == pytest.approx(0, abs=1e-5)
    assert images.var() == pytest.approx(1, abs=1e-5)
    patches = np.lib.stride_tricks.sliding_window_view(images, window, axis=(1, 2)).reshape(-1, math.prod(window))
    np.testing.assert_allclose(stimulus.covariance_matrix(), np.cov(patches.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(stimulus.mean().ravel(), patches.mean(0), atol=1e-9)
    law = stimulus.marginal
    assert law.mean() == pytest.approx(patches.mean(), abs=1e-9)
    assert law.variance() == pytest.approx(patches.var(), abs=1e-9)
    assert law.cdf(np.array([0.3]))[0] == pytest.approx((patches <= np.float32(0.3)).mean(), abs=1e-6)
    x = np.asarray(stimulus.sample(KEY, 4000), float).reshape(4000, -1)
    assert_within(x, patches.mean(0), rounding=1e-5)


def test_whitening_multiplies_the_spectrum_as_it_says():
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(400), np.fft.fftfreq(400)))
    band = (frequency > 0.02) & (frequency < 0.25)

    def slope(power):
        return np.polyfit(np.log(frequency[band]), np.log(power[band]), 1)[0]

    raw, whitened = (
        slope(np.mean(np.abs(np.fft.fft2(NaturalPatches(2, treatment).images)) ** 2, axis=0))
        for treatment in ("raw", "whitened")
    )
    ramp = (2 * frequency) ** 2 * np.exp(-2 * (2 * frequency / 0.8) ** 4)  # f^2 up to 4/5 of the highest frequency
    assert raw < -1.5  # natural scenes have power of about f^-2 (Field 1987)
    assert whitened - raw == pytest.approx(slope(ramp), abs=0.3)  # the FFT sees the photographs' borders, the DCT not
