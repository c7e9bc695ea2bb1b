"""Laws of one pixel against scipy.stats and quadrature of densities derived here."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from helpers import drawn
from localax.stimuli import (
    MARGINALS,
    AbstractMarginal,
    Algebraic,
    Bernoulli,
    Circulant,
    Erf,
    GeneralizedNormal,
    Ising,
    Laplace,
    Normal,
    Quantile,
    StudentT,
    Uniform,
    gain_from_ig22,
    latent_covariance,
)
from localax.stimuli._marginals import TwoPoint, Weighted

SCIPY = {
    "normal": (Normal(), stats.norm()),
    "uniform": (Uniform(), stats.uniform(-1, 2)),
    "laplace": (Laplace(), stats.laplace()),
    "t 2.2": (StudentT(2.2), stats.t(2.2)),
    "t 3": (StudentT(3), stats.t(3)),
    "t 30": (StudentT(30), stats.t(30)),
    "gennorm 0.5": (GeneralizedNormal(0.5), stats.gennorm(0.5)),
    "gennorm 2": (GeneralizedNormal(2), stats.gennorm(2)),
    "gennorm 20": (GeneralizedNormal(20), stats.gennorm(20)),
}
scipy_laws = pytest.mark.parametrize(("law", "truth"), SCIPY.values(), ids=SCIPY.keys())
Z = np.concatenate([np.geomspace(1e-6, 1, 30), np.linspace(1, 8, 29)])


# Moments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gain", "printed"),
    [(0.01, -0.0008), (0.1, -0.0762), (0.3, -0.5001), (0.5, -0.9122), (1, -1.4402), (1.1, -1.4951), (2, -1.7403),
     (3, -1.8340), (10, -1.9537), (100, -1.9955)],
)  # fmt: skip
def test_nlgp_kurtosis(gain, printed):
    found = Erf(gain).excess_kurtosis()
    assert found == pytest.approx(printed, abs=5e-5)  # B-13's four digits

    def moment(order):
        def integrand(z):
            return 2 * math.erf(gain * z) ** order * stats.norm._pdf(z)

        turn = min(6 / gain, 12)  # beyond it erf is 1
        return integrate.quad(integrand, 0, turn, epsabs=1e-13)[0] + integrate.quad(integrand, turn, 40)[0]

    assert found == pytest.approx(moment(4) / moment(2) ** 2 - 3, abs=1e-8)  # quad's error estimate
    assert float(Erf(gain).norm) ** 2 == pytest.approx(moment(2), rel=1e-8)


def kur_moment(k, order):
    """E|X|^order for the density (1 + |x|^k)^(-1-1/k)/2, the slope of the algebraic sigmoid, in s = log x."""

    def integrand(s):
        return math.exp((order + 1) * s - (1 + 1 / k) * np.logaddexp(0, k * s))

    return integrate.quad(integrand, -60, 0)[0] + integrate.quad(integrand, 0, 700 / k, limit=200)[0]


@pytest.mark.parametrize("k", [2.2, 3, 4, 5, 10, 30])
def test_kur_variance_is_the_one_it_divides_by(k):
    assert float(Algebraic(k).norm) ** 2 == pytest.approx(kur_moment(k, 2), rel=1e-7)  # quad's error estimate


def test_kur_standard_deviations_of_b12():
    printed = {3: 1.0, 4: 0.773996, 5: 0.695032, 10: 0.605060, 30: 0.580456}
    for k, sd in printed.items():
        assert float(Algebraic(k).norm) == pytest.approx(sd, abs=5e-7)


@pytest.mark.parametrize(("k", "printed"), [(4.5, 4.054), (5, 1.2853), (6, -0.0780), (10, -0.9299), (30, -1.1737)])
def test_kur_kurtosis(k, printed):
    found = Algebraic(k).excess_kurtosis()
    assert found == pytest.approx(printed, abs=5e-4 if k == 4.5 else 5e-5)  # B-12's digits
    assert found == pytest.approx(kur_moment(k, 4) / kur_moment(k, 2) ** 2 - 3, rel=1e-6)


def test_kur_kurtosis_vanishes_at_589_and_diverges_up_to_4():
    root = optimize.brentq(lambda k: Algebraic(k).excess_kurtosis(), 5, 7)
    assert root == pytest.approx(5.890115, abs=5e-7)
    assert [Algebraic(k).excess_kurtosis() for k in (2.5, 3, 4)] == [math.inf] * 3
    assert Algebraic(1e6).excess_kurtosis() == pytest.approx(-1.2, abs=1e-5)  # the uniform law's


@scipy_laws
def test_kurtosis_of_known_laws(law, truth):
    kurtosis = float(truth.stats("k"))
    expected = kurtosis if np.isfinite(kurtosis) else math.inf
    assert law.excess_kurtosis() == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("law", [Erf(3), Algebraic(4.5), Algebraic(12), StudentT(9), GeneralizedNormal(0.7), Laplace()])
def test_moments_of_the_map_are_the_stated_ones(law):
    """E T(Z)^2 and E T(Z)^4 by Simpson's rule, so that variance 1 is no mere claim."""
    z = np.linspace(0, 30, 60001)
    values = law._exactly(z)

    def moment(order):
        return float(integrate.simpson(values**order * stats.norm.pdf(z), x=z))

    assert 2 * moment(2) == pytest.approx(1, abs=1e-8)  # Simpson's error is h^4 = 6e-14, the table's 1e-9
    if law.excess_kurtosis() < 4:
        assert 2 * moment(4) == pytest.approx(law.excess_kurtosis() + 3, rel=1e-7)


# The map, its tails, quantiles and distribution functions -------------------------------------------------------------


@pytest.mark.usefixtures("x64")
@scipy_laws
@pytest.mark.parametrize("sign", [-1, 1])
def test_map_in_float64(law, truth, sign):
    expected = truth.isf(stats.norm.sf(Z)) / truth.std()
    if truth.dist.name in ("t", "laplace"):  # isf loses digits where the share between 0 and x is small
        expected = np.where(Z < 1e-3, Z * stats.norm.pdf(0) / truth.pdf(0) / truth.std(), expected)
    found = law.from_normal(jnp.asarray(sign * Z))
    # 1e-9: the table's promise; near 0 scipy's isf(1/2 - tiny) knows tiny to 1e-16 only, and the line above to z.
    assert np.all(
        np.abs(sign * np.asarray(found) - expected) <= 2e-9 * expected + 1e-15 + (Z < 1e-3) * 2 * Z * expected
    )


@scipy_laws
@pytest.mark.parametrize("sign", [-1, 1])
def test_map_in_float32(law, truth, sign):
    z = Z[Z > 1e-3].astype(np.float32)
    expected = truth.isf(stats.norm.sf(z.astype(float))) / truth.std()
    found = law.from_normal(jnp.asarray(sign * z))
    assert found.dtype == np.float32
    # The table's argument is known to 2e-6 and the logarithm of any of these maps moves at most 1 + z^2 times as fast.
    assert np.all(np.abs(sign * np.asarray(found, float) / expected - 1) < 2e-6 * (1 + z**2))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("k", [2.1, 3, 5, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kur_map_has_the_tail_of_the_algebraic_sigmoid(k, dtype):
    z = np.linspace(0.25, 8, 32).astype(dtype)
    law = Algebraic(k)
    x = np.asarray(law.from_normal(jnp.asarray(z)), float) * float(law.norm)
    survival = -0.5 * np.expm1(-np.log1p(x**-k) / k)  # 1 - F(x), F(x) = (1 + x/(1+x^k)^(1/k))/2
    expected = stats.norm.sf(z.astype(float))
    # A rounding of x moves its tail by k of it, of z by z^2; 20 more for erfc, log and power.
    assert np.all(np.abs(survival / expected - 1) < (20 + z**2) * k * np.finfo(dtype).eps)
    np.testing.assert_array_equal(law.from_normal(jnp.asarray(-z)), -np.asarray(law.from_normal(jnp.asarray(z))))


@pytest.mark.slow
@pytest.mark.parametrize("cls", MARGINALS)
@settings(max_examples=4)
@given(data=st.data())
def test_every_map_is_finite_increasing_and_odd(cls, data):
    law = drawn(data, cls)
    z = jnp.linspace(-12, 12, 4801, dtype=jnp.float32)
    x = np.asarray(law.from_normal(z), float)
    assert np.all(np.isfinite(x))
    assert np.all(np.diff(x) >= -1e-4 * np.abs(x[1:]))  # float32 rounding, 2e-6 (1 + z^2/k) at the very most
    assert np.array_equal(law.from_normal(-z)[z != 0], -x[z != 0])
    assert np.all(np.isfinite(slopes(law, z[np.abs(z) < 6])))  # float32 normals end at 5.9


@jax.jit
def slopes(law, z):
    return jax.vmap(jax.grad(law.from_normal))(z)


@scipy_laws
def test_distribution_function_and_quantiles(law, truth):
    sd = truth.std()
    x = np.concatenate([-np.geomspace(1e-3, 50, 40), [0.0], np.geomspace(1e-3, 50, 40)])
    np.testing.assert_allclose(law.cdf(x), truth.cdf(x * sd), atol=2e-9)  # the table's promise
    far = -np.linspace(2, 9, 8)
    np.testing.assert_allclose(law.cdf(far), truth.cdf(far * sd), rtol=1e-6)  # relative in the tail: 1e-9 x z^2 slopes
    p = np.array([1e-30, 1e-12, 1e-3, 0.2, 0.4, 0.6, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(law.quantile(p), truth.ppf(p) / sd, rtol=1e-8)


def test_discrete_and_steep_distribution_functions():
    np.testing.assert_array_equal(Bernoulli().cdf(np.array([-1.5, -1.0, 0.0, 0.99, 1.0])), [0, 0.5, 0.5, 0.5, 1])
    x = np.linspace(-0.9, 0.9, 7)
    law = Erf(2)
    expected = stats.norm.cdf(stats.norm.ppf((x * float(law.norm) + 1) / 2) / (2 * math.sqrt(2)))  # erf(2 z) = x
    np.testing.assert_allclose(law.cdf(x), expected, atol=1e-12)


# Correlation maps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "printed"), [(5, (0.1986, 0.4967, 0.7966)), (10, (0.1961, 0.4918, 0.7929)),
                                            (30, (0.1923, 0.4845, 0.7873))])  # fmt: skip
def test_kur_correlations_of_c11(k, printed):
    np.testing.assert_allclose(Algebraic(k).correlation(np.array([0.2, 0.5, 0.8])), printed, atol=5e-5)


def by_trapezoid(law: AbstractMarginal, r: float, step: float) -> float:
    """E T(Z) T(Z') on a grid: exponentially accurate for smooth maps, and its own error is seen by halving the step."""
    grid = np.arange(-12, 12 + step / 2, step)
    z, w = grid[:, None], grid[None, :]
    weight = np.exp(-(z**2) / 2 - w**2 / 2) * step**2 / (2 * np.pi)
    other = r * z + np.sqrt(1 - r**2) * w
    return float(np.sum(weight * law._exactly(z) * law._exactly(other)))


@pytest.mark.parametrize("law", [Algebraic(6), StudentT(8), Laplace(), GeneralizedNormal(4), Uniform(), Erf(1.1)])
@pytest.mark.parametrize("r", [-0.6, 0.9])
def test_correlation_by_two_dimensional_quadrature(law, r):
    coarse, fine = (by_trapezoid(law, r, step) for step in (0.12, 0.06))
    assert law.correlation(np.array(r)) == pytest.approx(fine, abs=abs(fine - coarse) + 1e-7)
    assert abs(fine - coarse) < 2e-5  # so that the line above is a test


@pytest.mark.parametrize("gain", [0.01, 1.0, 100.0])
def test_arcsin_law(gain):
    r = np.linspace(-1, 1, 21)
    zc2 = 2 / math.pi * math.asin(2 * gain**2 / (1 + 2 * gain**2))
    expected = 2 / (math.pi * zc2) * np.arcsin(2 * gain**2 / (1 + 2 * gain**2) * r)  # C11
    np.testing.assert_allclose(Erf(gain).correlation(r), expected, rtol=1e-12)
    np.testing.assert_allclose(Bernoulli().correlation(r), 2 / math.pi * np.arcsin(r), rtol=1e-12)


@pytest.mark.parametrize("cls", MARGINALS)
@settings(max_examples=4)
@given(data=st.data())
def test_correlation_maps_invert(cls, data):
    law = drawn(data, cls)
    wanted = np.linspace(-0.95, 0.95, 9)
    np.testing.assert_allclose(law.correlation(law.latent_correlation(wanted)), wanted, atol=1e-9)
    np.testing.assert_allclose(law.correlation(np.array([-1.0, 0.0, 1.0])), [-1, 0, 1], atol=1e-9)
    np.testing.assert_allclose(law.latent_correlation(np.array([0.0, 1.0])), [0, 1], atol=1e-9)


def test_latent_covariance_behind_an_ising_ring():
    wanted = Ising(20, 0.7).covariance()
    latent = latent_covariance(Erf(100), wanted)
    np.testing.assert_allclose(Erf(100).correlation(np.asarray(latent.vector)), wanted, atol=1e-12)
    assert np.fft.fft(latent.vector).real.min() == pytest.approx(0.042, abs=5e-4)  # C11


@pytest.mark.parametrize("law", [Bernoulli(), Erf(3), Uniform(), Normal(), StudentT(5)])
@pytest.mark.parametrize("beyond", [1.3, -1.3])
def test_no_latent_correlation_gives_more_than_one(law, beyond):
    with pytest.raises(ValueError, match=rf"correlation must be between -1 and 1, got {beyond}"):
        latent_covariance(law, [1, beyond])


def test_an_asymmetric_law_reaches_only_so_far():
    exponential = Quantile(lambda p: -jnp.log1p(-p), lambda q: -jnp.log(q))
    lowest = exponential.correlation(np.array(-1.0))
    assert lowest == pytest.approx(1 - math.pi**2 / 6, abs=1e-4)  # E log U log(1-U) - 1; the series leaves out 1e-5
    with pytest.raises(ValueError, match=r"correlation must be between -0\.644\d* and 1, got -0\.8"):
        latent_covariance(exponential, [1, -0.8])


def test_latent_correlations_must_be_a_covariance_together():
    # Three +-1 pixels can have correlations -1/3 but not -1/2: sin(-pi/4) gives the eigenvalue 1 - sqrt(2).
    with pytest.raises(ValueError, match=r"latent correlation that Bernoulli would need .* eigenvalue is -0\.414"):
        latent_covariance(Bernoulli(), [1, -0.5, -0.5])
    assert isinstance(latent_covariance(Bernoulli(), [1, -1 / 3, -1 / 3]), Circulant)


def test_ig22_gain():
    z = np.linspace(-2, 2, 5)
    theirs = np.array([math.erf(3 * value / math.sqrt(2)) for value in z])
    law = Erf(gain_from_ig22(3))
    np.testing.assert_allclose(law._exactly(z) * float(law.norm), theirs, rtol=1e-12)


# Laws given by functions or values ------------------------------------------------------------------------------------


def test_quantile_law_is_standardised():
    law = Quantile(lambda p: -jnp.log1p(-p), lambda q: -jnp.log(q))  # the exponential: mean 1, variance 1, kurtosis 6
    x = np.array([-0.9, 0.0, 1.0, 4.0])
    np.testing.assert_allclose(law.cdf(x), stats.expon.cdf(x + 1), atol=1e-10)
    assert law.excess_kurtosis() == pytest.approx(6, rel=1e-8)
    assert law.quantile(np.array([1e-12]))[0] == pytest.approx(1e-12 - 1, rel=1e-9)


def test_quantile_law_with_heavy_tails():
    heavy = Quantile(lambda p: -(p ** (-1 / 3)))  # the fourth moment diverges, the variance does not
    assert heavy.excess_kurtosis() == math.inf
    assert Quantile(lambda p: -(p ** (-1 / 4))).excess_kurtosis() == math.inf
    light = Quantile(lambda p: 1 - (2 * p) ** (-1 / 8))  # 1 + |x| is Pareto(8)
    second, fourth = (integrate.quad(lambda x, m: x**m * 8 * (1 + x) ** -9, 0, np.inf, args=(m,))[0] for m in (2, 4))
    assert light.excess_kurtosis() == pytest.approx(fourth / second**2 - 3, rel=1e-6)
    with pytest.raises(ValueError, match="finite, positive variance"):
        Quantile(lambda p: -(p**-0.5))


def test_two_point_law():
    law = TwoPoint(np.array(0.0), np.array(1.0), np.array(0.2))
    values, chances = law.atoms()
    central = [float(np.sum(chances * (values - law.mean()) ** m)) for m in (1, 2, 4)]
    assert central[0] == pytest.approx(0, abs=1e-15)
    assert law.variance() == pytest.approx(central[1])
    assert law.excess_kurtosis() == pytest.approx(central[2] / central[1] ** 2 - 3)
    np.testing.assert_array_equal(law.cdf(np.array([-1.0, 0.0, 0.5, 1.0])), [0, 0.8, 0.8, 1])


def test_weighted_law():
    values = np.random.default_rng(1).normal(size=100)
    law, doubled = Weighted(values), Weighted(np.unique(values), np.ones(100))
    assert law.mean() == pytest.approx(values.mean())
    assert law.variance() == pytest.approx(values.var())
    assert law.excess_kurtosis() == pytest.approx(stats.kurtosis(values))
    x = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(law.cdf(x), [(values <= point).mean() for point in x])
    np.testing.assert_allclose(doubled.cdf(x), law.cdf(x))
    half = Weighted(np.array([0.0, 1.0]), np.array([3.0, 1.0]))
    assert half.mean() == 0.25
