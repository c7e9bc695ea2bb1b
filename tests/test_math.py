"""Circulants, the real DFT, quadrature and tables, each against plain loops, numpy.linalg or scipy."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from helpers import matrix
from localax import _math

RNG = np.random.default_rng(0)
SHAPES = [(2,), (5,), (8,), (3, 4), (5, 3)]


def symmetric_row(shape):
    row = RNG.normal(size=shape)
    return row + np.roll(np.flip(row), 1, axis=tuple(range(len(shape))))


@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_ring_distance_is_the_shorter_way(n):
    assert _math.ring_distance(n).tolist() == [min(abs(d), abs(d - n)) for d in range(n)]


@pytest.mark.parametrize("shape", SHAPES)
def test_spectrum_holds_the_eigenvalues(shape):
    row = symmetric_row(shape)
    eigenvalues = np.linalg.eigvalsh(matrix(row))
    np.testing.assert_allclose(np.sort(_math.spectrum(row).ravel()), eigenvalues, atol=1e-12)  # float64 rounding


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_circulant_entry_by_entry(shape):
    row = RNG.normal(size=shape)
    np.testing.assert_array_equal(_math.dense_circulant(row), matrix(row))
    if len(shape) == 1:
        np.testing.assert_array_equal(_math.circulant(row), matrix(row))
        np.testing.assert_array_equal(_math.circulant(jnp.asarray(row, jnp.float32)), matrix(row.astype(np.float32)))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("shape", SHAPES)
def test_circular_convolution_is_the_sum_it_stands_for(shape):
    x, kernel = RNG.normal(size=(2, *shape)), RNG.normal(size=shape)
    for function, operator in ((_math.circular_convolve, matrix(kernel)), (_math.circular_correlate, matrix(kernel).T)):
        expected = np.stack([(operator @ sample.ravel()).reshape(shape) for sample in x])
        found = function(jnp.asarray(x), jnp.asarray(kernel), len(shape))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_numpy_arrays_are_convolved_in_their_own_precision():
    """With JAX in float32, which would leave errors of 1e-7."""
    x, kernel = RNG.normal(size=(3, 9)), RNG.normal(size=9)
    assert np.abs(_math.circular_convolve(x, kernel, 1) - x @ matrix(kernel).T).max() < 1e-14


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_real_dft_is_orthogonal_and_diagonalises_circulants(n):
    basis, row = _math.real_dft(n), symmetric_row((n,))
    np.testing.assert_allclose(basis @ basis.T, np.eye(n), atol=1e-13)
    rotated = basis @ matrix(row) @ basis.T
    np.testing.assert_allclose(rotated, np.diag(np.diag(rotated)), atol=1e-12)


def test_normal_nodes_give_the_moments_of_a_normal():
    z, weight = _math.normal_nodes()
    for order in range(0, 21, 2):
        double_factorial = math.prod(range(1, order, 2))
        assert np.sum(weight * z**order) == pytest.approx(double_factorial, rel=1e-12)
        assert np.sum(weight * z ** (order + 1)) == pytest.approx(0, abs=1e-12 * double_factorial)
    assert np.sum(weight * np.abs(z)) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-12)


@pytest.mark.parametrize("gain", [1e-3, 1.0, 1e3])
def test_normal_nodes_resolve_steep_functions(gain):
    z, weight = _math.normal_nodes()
    exact = 2 / math.pi * math.asin(2 * gain**2 / (1 + 2 * gain**2))  # E erf(g Z)^2, a textbook integral
    assert np.sum(weight * special.erf(gain * z) ** 2) == pytest.approx(exact, rel=1e-11)


def test_normal_nodes_hold_what_grows_almost_like_the_density_falls():
    z, weight = _math.normal_nodes()
    a = 0.48  # E exp(a Z^2) = (1 - 2a)^(-1/2); from 38 on, 2e-13 of it is left
    assert np.sum(weight * np.exp(a * z**2)) == pytest.approx((1 - 2 * a) ** -0.5, rel=1e-11)


def test_hermite_powers_of_polynomials_and_of_the_sign():
    z, _ = _math.normal_nodes()
    # z^3 = sqrt(6) He_3/sqrt(6) + 3 He_1, in normalised polynomials.
    np.testing.assert_allclose(_math.hermite_powers(z**3)[:6], [0, 9, 0, 6, 0, 0], atol=1e-10)
    # E sign Z sign Z' = 2/pi arcsin r: its Taylor coefficients are the powers.
    m = np.arange(100)
    arcsin = np.exp(special.gammaln(2 * m + 1) - 2 * special.gammaln(m + 1) - m * math.log(4)) / (2 * m + 1)
    powers = _math.hermite_powers(np.sign(z))
    np.testing.assert_allclose(powers[1:200:2], 2 / math.pi * arcsin, rtol=1e-8)
    np.testing.assert_allclose(powers[::2], 0, atol=1e-20)


@pytest.mark.parametrize("power", [0, 0.5, -0.3, -0.9])
def test_unit_nodes_integrate_up_to_a_singularity(power):
    q, weight = _math.unit_nodes(1000)
    assert np.sum(weight * q**power) == pytest.approx(1 / (1 + power), rel=1e-10)
    if power >= 0:  # the radius of a Gaussian in 40 dimensions starts like (1 - q)^(1/40)
        assert np.sum(weight * (1 - q) ** (power + 0.025)) == pytest.approx(1 / (1.025 + power), rel=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_odd_table_interpolates_over_its_whole_range():
    table = _math.OddTable(lambda z: np.sinh(z**2 / 4) ** 0.5)  # from z/2 near 0 to exp(z^2/8) far out
    z = np.concatenate([np.geomspace(1e-8, 20, 4001), [1e-12]])
    expected = np.sinh(z**2 / 4) ** 0.5
    np.testing.assert_allclose(table(jnp.asarray(z)), expected, rtol=1e-9)  # what its docstring promises
    np.testing.assert_array_equal(table(jnp.asarray(-z)), -np.asarray(table(jnp.asarray(z))))
    assert table(jnp.zeros(1)) == 0


def test_odd_table_in_float32():
    table = _math.OddTable(lambda z: np.sinh(z**2 / 4) ** 0.5)
    z = np.geomspace(1e-6, 12, 1001).astype(np.float32)
    expected = np.sinh(z.astype(float) ** 2 / 4) ** 0.5
    # log z - log 1e-9 is up to 24, known to 1.9e-6; the logarithm of f moves z^2/4 times as fast.
    assert np.all(np.abs(table(jnp.asarray(z)) / expected - 1) < 4e-6 * (1 + z**2 / 4))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_tail_keeps_its_digits(dtype):
    z = np.linspace(0, 12, 49).astype(dtype)
    expected = 2 * stats.norm.sf(z.astype(float))
    # A rounding of z moves the tail by z^2 of it; 20 more for the implementation of erfc.
    assert np.all(np.abs(_math.normal_tail(jnp.asarray(z)) / expected - 1) < (z**2 + 20) * np.finfo(dtype).eps)
    assert _math.normal_tail(jnp.asarray(z)).dtype == dtype


@pytest.mark.parametrize("dimension", [2, 3, 40])
def test_coordinate_of_a_sphere(dimension):
    def density(x):
        return (1 - x**2) ** ((dimension - 3) / 2)

    whole = integrate.quad(density, -1, 1)[0]
    for x in (-0.9, -0.2, 0.0, 0.5, 0.99):
        share = integrate.quad(density, -1, x)[0] / whole
        # quad's own error at the ends, where the density of the circle diverges
        assert _math.sphere_coordinate_cdf(np.array(x), dimension) == pytest.approx(share, abs=1e-7)
    np.testing.assert_array_equal(_math.sphere_coordinate_cdf(np.array([-3.0, 3.0]), dimension), [0, 1])
