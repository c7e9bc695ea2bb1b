"""The amplifier against scipy's adaptive quadrature, closed forms and moments."""

from itertools import pairwise

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy import integrate, special, stats

from localax.stimuli import (
    Algebraic,
    Bernoulli,
    Elliptical,
    Empirical,
    Erf,
    Gaussian,
    GaussianClone,
    GeneralizedNormal,
    Laplace,
    Normal,
    RadialStudentT,
    Shell,
    StudentT,
    Surface,
    Uniform,
)
from localax.stimuli._marginals import TwoPoint, Weighted
from localax.theory import amplifier, index_sign_change
from localax.theory._pixel_law import pixel_law

pytestmark = pytest.mark.usefixtures("x64")
ROOT2 = np.sqrt(2)
POINTS = np.array([0.003, 0.1, 0.4, 0.8, 0.95, 0.999])


def by_quad(density, a, variance=1.0, edges=(0.0, np.inf)):
    """phi(a) for a symmetric density, piece by piece: nothing is shared with the package."""
    t = a / variance / np.sqrt(1 - a**2 / variance)
    pieces = [
        integrate.quad(lambda x: x * special.erf(x * t / ROOT2) * density(x), low, high, epsabs=1e-13, epsrel=1e-12)[0]
        for low, high in pairwise(edges)
    ]
    return 2 * sum(pieces)


def kur_density(k):
    """Kur's density from its distribution function x/(1 + |x|^k)^(1/k), at variance 1 (B-12)."""
    s = np.sqrt(special.beta(3 / k, 1 - 2 / k) / k)
    return lambda x: s * (1 + (s * x) ** k) ** (-1 / k - 1) / 2


def erf_law(gain, a):
    """NLGP's phi by integrating over the normal behind it, cut where erf(g z) turns."""
    norm = np.sqrt(2 / np.pi * np.arcsin(2 * gain**2 / (1 + 2 * gain**2)))
    t = a / np.sqrt(1 - a**2)

    def integrand(z):
        x = special.erf(gain * z) / norm
        return 2 * stats.norm.pdf(z) * x * special.erf(x * t / ROOT2)

    edges = np.unique([*np.clip(np.array([0, 0.3, 1, 2, 4, 8]) / gain, 0, 9), 1, 3, 9])
    return sum(integrate.quad(integrand, low, high, epsabs=1e-13, epsrel=1e-12)[0] for low, high in pairwise(edges))


CUTS = (0.0, 0.01, 0.1, 1.0, 10.0, 1e3, np.inf)
DENSITIES = [
    (Algebraic(2.5), kur_density(2.5), CUTS),
    (Algebraic(5), kur_density(5), CUTS),
    (Algebraic(30), kur_density(30), CUTS),
    (Laplace(), lambda x: np.exp(-ROOT2 * x) / ROOT2, CUTS[:-1]),
    (StudentT(3), lambda x: stats.t.pdf(x * np.sqrt(3), 3) * np.sqrt(3), CUTS),
    (GeneralizedNormal(8), lambda x: stats.gennorm.pdf(x, 8, scale=1 / stats.gennorm.std(8)), (0.0, 0.1, 1.0, 4.0)),
]


@pytest.mark.parametrize(("law", "density", "edges"), DENSITIES, ids=lambda v: type(v).__name__)
def test_equals_scipy_quadrature(law, density, edges):
    truth = [by_quad(density, a, edges=edges) for a in POINTS]
    # 1e-10 asked; StudentT and GeneralizedNormal take their quantiles from a table that is good to 1e-9 relative.
    np.testing.assert_allclose(amplifier(law)(POINTS), truth, atol=1e-10)


@pytest.mark.parametrize("gain", [0.01, 0.3, 3, 100])
def test_nlgp_equals_scipy_quadrature(gain):
    np.testing.assert_allclose(amplifier(Erf(gain))(POINTS), [erf_law(gain, a) for a in POINTS], atol=1e-10)


def test_closed_forms():
    np.testing.assert_allclose(amplifier(Normal())(POINTS), np.sqrt(2 / np.pi) * POINTS, atol=1e-15)
    c = POINTS / np.sqrt(1 - POINTS**2)
    np.testing.assert_allclose(amplifier(Bernoulli())(POINTS), special.erf(c / ROOT2), atol=1e-15)
    c = c[1:]  # the closed form of C8 cancels at small a
    uniform = (1.5 - 0.5 / c**2) * special.erf(c * np.sqrt(1.5)) + np.sqrt(1.5 / np.pi) * np.exp(-1.5 * c**2) / c
    np.testing.assert_allclose(amplifier(Uniform())(POINTS[1:]), uniform / np.sqrt(3), atol=1e-11)


def kur_mean(k):
    return special.beta(2 / k, 1 - 1 / k) / np.sqrt(k * special.beta(3 / k, 1 - 2 / k))


MEANS = [(Bernoulli(), 1.0), (Normal(), np.sqrt(2 / np.pi)), (Laplace(), 1 / ROOT2), (Algebraic(2.5), kur_mean(2.5))]


@pytest.mark.parametrize(("law", "mean"), MEANS, ids=lambda v: type(v).__name__)
def test_odd_with_limit_and_slope(law, mean):
    phi = amplifier(law)
    a = np.linspace(-0.99, 0.99, 7)
    np.testing.assert_array_equal(phi(-a), -np.asarray(phi(a)))
    assert phi.limit == pytest.approx(mean, abs=1e-12)
    assert float(phi(1.0)) == pytest.approx(mean, abs=1e-12)
    # Kur(2.5) has phi = sqrt(2/pi) a - O(a^1.5): its slope approaches the common one like sqrt(a).
    assert float(phi.slope(1e-14)) == pytest.approx(np.sqrt(2 / np.pi), abs=1e-6)


@pytest.mark.parametrize("law", [Bernoulli(), Erf(0.5), Algebraic(3), Uniform()], ids=lambda v: type(v).__name__)
def test_differentiates_compiles_and_maps(law):
    phi = amplifier(law)
    a, h = np.array([[0.2, -0.5], [0.9, 0.0]]), 1e-5
    slope = np.asarray(phi.slope(a))
    np.testing.assert_allclose(slope, (np.asarray(phi(a + h)) - np.asarray(phi(a - h))) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(jax.vmap(jax.vmap(jax.grad(phi)))(a), slope, atol=1e-13)
    np.testing.assert_allclose(eqx.filter_jit(phi)(a), phi(a), atol=1e-14)
    assert np.asarray(phi(a)).dtype == np.float64


@pytest.mark.parametrize("law", [Erf(0.3), Erf(100), Algebraic(2.5), Algebraic(30)], ids=lambda v: type(v).__name__)
def test_table_error_is_below_its_bound(law):
    phi = amplifier(law)
    table = phi.tabulated()
    a = np.concatenate([np.logspace(-8.9, -1, 200), np.sin(np.linspace(0.1, np.pi / 2, 800))[:-1]])
    gap = np.abs(np.asarray(table(a) - phi(a)))
    assert gap.max() < 1.1e-9  # 6.3/(384 64^4) = 1e-9
    assert (gap / a).max() < 1e-8
    # The derivative of cubic pieces is good to h^3, 64^-3 = 4e-6.
    np.testing.assert_allclose(table.slope(a[:-5]), phi.slope(a[:-5]), atol=4e-6)


def test_table_at_zero_and_beyond():
    table = amplifier(Erf(3)).tabulated()
    assert float(table(0.0)) == 0
    assert float(jax.grad(table)(0.0)) == pytest.approx(np.sqrt(2 / np.pi), abs=1e-9)
    assert float(table(1.0)) == pytest.approx(table.limit, abs=1e-7)


# Expansions -----------------------------------------------------------------------------------------------------------


def nested(function, order):
    for _ in range(order):
        function = jax.grad(function)
    return function


@pytest.mark.slow
@pytest.mark.parametrize("law", [Bernoulli(), Erf(1), Laplace()], ids=lambda v: type(v).__name__)
def test_third_derivative_is_the_corrected_one(law):
    """B-02: the third derivative at 0 is sqrt(2/pi)(3 - kappa), where the paper prints kappa^4."""
    third = np.sqrt(2 / np.pi) * -law.excess_kurtosis()
    assert float(nested(amplifier(law), 3)(0.0)) == pytest.approx(third, rel=1e-9)
    assert float(nested(amplifier(law).taylor(3), 3)(0.0)) == pytest.approx(third, rel=1e-9)


@pytest.mark.parametrize("law", [Bernoulli(), Erf(1), Algebraic(20), Uniform()], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("order", [1, 3, 5])
def test_taylor_error_has_its_order(law, order):
    """Halving a divides what is left by 2^(order + 2): every coefficient is right."""
    phi, a = amplifier(law), np.array([0.02, 0.04])
    gap = np.asarray(phi(a) - phi.taylor(order)(a)) / a  # of order a^2, a^4, a^6: 1e-11 at least, against 1e-16
    assert np.log2(gap[1] / gap[0]) == pytest.approx(order + 1, abs=0.05)


def test_moments_that_diverge_are_refused_in_one_line():
    amplifier(Algebraic(4)).taylor(1)
    with pytest.raises(ValueError, match=r"^taylor: order must be at most 1, as the next moment .* infinite, got 3$"):
        amplifier(Algebraic(4)).taylor(3)
    with pytest.raises(ValueError, match=r"^taylor: order must be at most 3, as the next moment .* infinite, got 5$"):
        amplifier(Algebraic(5)).taylor(5)
    with pytest.raises(ValueError, match=r"^taylor: order must be 1, 3 or 5, got 4$"):
        amplifier(Normal()).taylor(4)


def test_elasticity_index_and_crossing():
    phi = amplifier(Bernoulli())
    a = 0.4
    t = a / np.sqrt(1 - a**2)
    slope = np.sqrt(2 / np.pi) * np.exp(-(t**2) / 2) * (1 - a**2) ** -1.5
    assert float(phi.elasticity(a)) == pytest.approx(a * slope / special.erf(t / ROOT2), rel=1e-12)
    assert float(phi.elasticity(0.0)) == 1
    area = integrate.quad(lambda r: special.erf(r / np.sqrt(2 - 2 * r**2)), 0, 1, epsabs=1e-12)[0]
    assert phi.index() == pytest.approx(area / (np.sqrt(2 / np.pi) / 2) - 1, abs=1e-9)
    assert phi.crossing() is None
    assert amplifier(Normal()).index() == pytest.approx(0, abs=1e-12)
    assert amplifier(Normal()).crossing() is None


@pytest.mark.slow
def test_kur_five_is_both_sub_and_super_linear():
    """Kurtosis 4.29 > 3, so sub-linear near 0, yet super-linear beyond a = 0.67 and, by area, on the whole."""
    phi = amplifier(Algebraic(5))
    crossing = phi.crossing()
    assert crossing == pytest.approx(0.6695, abs=1e-4)
    assert float(phi(crossing)) == pytest.approx(np.sqrt(2 / np.pi) * crossing, abs=1e-11)
    assert phi.index() > 0 > 3 - (Algebraic(5).excess_kurtosis() + 3)
    change = index_sign_change(Algebraic, 4.2, 6)
    assert 4.2 < change < 5
    assert amplifier(Algebraic(change)).index() == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match=r"^index_sign_change: low, high must be settings"):
        index_sign_change(Erf, 0.1, 3)


# Any variance, values, elliptical laws -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_any_variance(scale):
    """B-04: phi lives on (-s, s), and its slope at 0 does not depend on s."""
    law = TwoPoint(np.array(-scale), np.array(scale), np.array(0.5))
    a = scale * POINTS
    truth = scale * special.erf(a / scale**2 * scale / np.sqrt(2 * (1 - a**2 / scale**2)))
    np.testing.assert_allclose(amplifier(law)(a), truth, atol=1e-14)
    phi = amplifier(law)
    assert phi.scale == pytest.approx(scale)
    assert float(phi.slope(0.0)) == pytest.approx(np.sqrt(2 / np.pi))
    assert float(nested(phi, 3)(0.0)) == pytest.approx(np.sqrt(2 / np.pi) * 2 / scale**2)
    assert float(nested(phi.taylor(3), 3)(0.0)) == pytest.approx(np.sqrt(2 / np.pi) * 2 / scale**2)


def test_lopsided_laws_are_centred():
    law = TwoPoint(np.array(0.0), np.array(1.0), np.array(0.2))
    values, chances = np.array([-0.2, 0.8]), np.array([0.8, 0.2])
    s2, a = 0.16, 0.1
    truth = np.sum(chances * values * special.erf(values * a / s2 / np.sqrt(2 * (1 - a**2 / s2))))
    assert float(amplifier(law)(a)) == pytest.approx(truth, abs=1e-14)


def test_many_values_are_gathered_without_loss():
    values = np.random.default_rng(0).normal(size=30_000) ** 3
    values = np.concatenate([values, -values])
    phi = amplifier(Weighted(values))
    assert phi.law.magnitude.size < 6000
    s = values.std()
    for r in (0.01, 0.3, 0.9):
        plain = np.mean(values * special.erf(values / s * r / np.sqrt(2 * (1 - r**2))))
        assert float(phi(r * s)) == pytest.approx(plain, abs=2.7e-10 * np.abs(values).mean() + 1e-13)


def test_a_law_of_few_numbers_is_computed_once():
    shell = Elliptical(12, 1.0, Shell()).marginal
    assert pixel_law(shell) is pixel_law(Elliptical(12, 2.0, Shell()).marginal)
    for other in (Elliptical(13, 1.0, Shell()).marginal, Elliptical(12, 1.0, Surface()).marginal):
        assert pixel_law(other).fourth != pixel_law(shell).fourth


@pytest.mark.slow
def test_standard_error_covers_the_truth_and_shrinks():
    """Values drawn independently: the error is that of repeated draws, within a factor that 20 groups allow."""
    rng = np.random.default_rng(1)
    a = np.array([0.3, 0.7])
    repeats = np.stack([np.asarray(amplifier(Weighted(rng.uniform(-1, 1, 1000)))(a / np.sqrt(3))) for _ in range(60)])
    phi = amplifier(Weighted(rng.uniform(-1, 1, 1000)))
    error = np.asarray(phi.standard_error(a / np.sqrt(3)))
    assert np.all(error / repeats.std(0) < 2)
    assert np.all(error / repeats.std(0) > 0.5)
    assert float(amplifier(Uniform()).standard_error(0.3)) == 0


def test_empirical_samples_count_once_however_many_pixels_they_have():
    """A thousand pixels that are all copies of one carry the error of one, not of a thousand."""
    one = np.random.default_rng(2).normal(size=(400, 1)).astype(np.float32)
    copies = Empirical(np.repeat(one, 50, axis=1))
    whole, single = amplifier(copies), amplifier(copies.marginal)
    assert float(whole(0.5)) == pytest.approx(float(single(0.5)), abs=1e-8)
    ratio = float(whole.standard_error(0.5) / single.standard_error(0.5))
    assert 3 < ratio < 15  # sqrt(50) = 7.1


def test_gaussian_clones_are_linear():
    clone = GaussianClone(Gaussian(40, 2))
    np.testing.assert_allclose(amplifier(clone)(POINTS), np.sqrt(2 / np.pi) * POINTS, atol=1e-15)


@pytest.mark.parametrize("radial", [Surface(), Shell()], ids=lambda v: type(v).__name__)
def test_elliptical_marginals(radial):
    """Against a density from the package's own distribution function, differentiated: good to about 1e-4."""
    law = Elliptical(20, 2, radial).marginal
    phi = amplifier(law)
    assert phi.law.fourth == pytest.approx(law.excess_kurtosis() + 3, rel=1e-12)
    square = phi.law.weight @ phi.law.magnitude**2
    assert square == pytest.approx(1, abs=1e-9)
    assert phi.law.weight @ phi.law.magnitude**4 == pytest.approx(phi.law.fourth, rel=1e-8)
    x = np.linspace(0, 12, 20_001)
    mass = 2 * np.diff(law.cdf(x))
    middle = (x[1:] + x[:-1]) / 2
    for a in (0.2, 0.7):
        truth = mass @ (middle * special.erf(middle * a / np.sqrt(2 * (1 - a**2))))
        assert float(phi(a)) == pytest.approx(truth, abs=1e-4)


def test_surface_in_three_dimensions_is_uniform():
    """Archimedes: one coordinate of a sphere in three dimensions is uniform."""
    law = Elliptical(3, 0.3, Surface()).marginal
    np.testing.assert_allclose(amplifier(law)(POINTS), amplifier(Uniform())(POINTS), atol=1e-9)


def test_student_radius_gives_student_pixels():
    law = Elliptical(20, 2, RadialStudentT(3)).marginal
    np.testing.assert_allclose(amplifier(law)(POINTS), amplifier(StudentT(3))(POINTS), atol=1e-12)
