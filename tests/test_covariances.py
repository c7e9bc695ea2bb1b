"""Correlations on rings and tori: which are refused, and that every sampler of Gaussian fields has its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import assert_within, drawn, matrix
from localax.stimuli import (
    COVARIANCES,
    NLGP,
    AbstractCovariance,
    Circulant,
    Copula,
    CosineModulated,
    Elliptical,
    Exponential,
    Gaussian,
    Normal,
    PeriodicSquaredExponential,
    Shell,
    SquaredExponential,
)
from localax.stimuli._covariances import ROUNDING, correlation_row
from localax.stimuli._field import (
    MatrixField,
    SeparableField,
    SpectralField,
    correlated_field,
    matrix_field,
    row_field,
    spectral_field,
)


def as_size(shape: tuple[int, ...]):
    return shape if len(shape) == 2 else shape[0]


def smallest(row: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix(row)).min())


# What is a covariance -------------------------------------------------------------------------------------------------


def test_formulas_pixel_by_pixel():
    for n in (8, 9):
        for i in range(n):
            d = min(i, n - i)
            assert SquaredExponential(2).row((n,))[i] == pytest.approx(np.exp(-(d**2) / 4), rel=1e-13)
            assert Exponential(2).row((n,))[i] == pytest.approx(np.exp(-d / 2), rel=1e-13)
            waves = np.exp(-(d**2) / 4) * np.cos(2 * np.pi * d / 4)
            assert CosineModulated(2, 4).row((n,))[i] == pytest.approx(waves, rel=1e-12, abs=1e-15)
    torus = SquaredExponential(2).row((5, 8))
    assert torus[2, 7] == pytest.approx(np.exp(-(2**2 + 1**2) / 4), rel=1e-13)


@pytest.mark.parametrize("lengthscale", [0.3, 2.0, 9.0, 39.0, 41.0, 300.0])
def test_periodic_sum_winding_by_winding(lengthscale):
    n = 40
    windings = range(-60, 61)  # 60 rings are 8 lengthscales at 300: e^-64 is left out
    row = np.array([sum(np.exp(-(((d + n * w) / lengthscale) ** 2)) for w in windings) for d in range(n)])
    np.testing.assert_allclose(PeriodicSquaredExponential(lengthscale).row((n,)), row / row[0], rtol=1e-12)


@pytest.mark.parametrize("lengthscale", [0.01, 1.0, 8.0, 15.0, 1e3, 1e9])
@pytest.mark.parametrize("shape", [(40,), (41,), (6, 7)])
def test_periodic_sum_and_exponential_are_covariances_at_every_lengthscale(lengthscale, shape):
    for covariance in (PeriodicSquaredExponential(lengthscale), Exponential(lengthscale)):
        assert smallest(covariance.row(shape)) > -1e-12  # rounding of 40 entries of at most 1
        correlation_row(covariance, as_size(shape))


@pytest.mark.parametrize(("lengthscale", "printed"), [(8, -2e-3), (15, -0.43)])
def test_the_wrapped_kernel_is_refused_where_it_is_no_covariance(lengthscale, printed):
    truth = smallest(SquaredExponential(lengthscale).row((40,)))
    assert truth == pytest.approx(printed, rel=0.1)  # B-36 gives one or two digits
    with pytest.raises(ValueError, match="no covariance") as caught:
        Gaussian(40, lengthscale)
    message = str(caught.value)
    assert f"{truth:.3g}" in message
    assert f"SquaredExponential(lengthscale={lengthscale})" in message
    assert "40 pixels" in message
    assert "PeriodicSquaredExponential" in message  # the remedy
    assert "\n" not in message


def test_rounding_is_clipped_and_the_variance_stays_one():
    row = SquaredExponential(5).row((40,))
    assert -1e-6 < smallest(row) < -5e-8  # -9e-8 (B-36)
    stimulus = Gaussian(40, 5)
    assert smallest(stimulus.covariance()) > -1e-14
    np.testing.assert_allclose(stimulus.covariance(), row, atol=ROUNDING)
    assert stimulus.covariance()[0] == pytest.approx(1, abs=1e-14)


def test_user_vectors():
    row = np.array([1, 0.5, 0.1, 0.1, 0.5])
    np.testing.assert_allclose(Copula(5, Circulant(row), Normal()).covariance(), row, atol=1e-14)
    with pytest.raises(
        ValueError, match=r"Circulant\(vector=.*\) is no covariance on 4 pixels: its smallest .* is -0.8"
    ):
        Copula(4, Circulant([1, 0.9, 0, 0.9]), Normal())
    with pytest.raises(ValueError, match="of shape"):
        Copula(6, Circulant(row), Normal())


# Samplers -------------------------------------------------------------------------------------------------------------


def sampled_covariance(field, shape, monkeypatch) -> np.ndarray:
    """The exact covariance of a linear sampler: its response to every single normal it draws, squared and summed."""
    pixels = int(np.prod(shape))

    def one_at_a_time(key, drawn, dtype):
        del key
        sample_axis = drawn.index(count)
        each, before = int(np.prod(drawn)) // count, sum(seen)
        seen.append(each)  # a second call draws other normals
        noise = np.eye(count)[:, before : before + each]
        others = tuple(side for axis, side in enumerate(drawn) if axis != sample_axis)
        return jnp.asarray(np.moveaxis(noise.reshape(count, *others), 0, sample_axis), dtype)

    seen: list[int] = []
    count = 4 * pixels + 1013  # more than the normals of one sample, and like no other side
    monkeypatch.setattr(jax.random, "normal", one_at_a_time)
    responses = np.asarray(field.draw(jax.random.key(0), count, jnp.float64)).reshape(count, pixels)
    return responses.T @ responses


RINGS = [(2,), (3,), (40,), (200,), (201,)]
TORI = [(4, 6), (5, 7), (4, 7), (7, 4)]


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("shape", [*RINGS, *TORI])
def test_every_sampler_has_the_covariance_it_was_given(shape, monkeypatch):
    covariance = Exponential(1.7)
    row = covariance.row(shape)
    truth = matrix(row) if np.prod(shape) < 100 else row[np.subtract.outer(np.arange(shape[0]), np.arange(shape[0]))]
    spectral = spectral_field(np.fft.fftn(row).real)
    fields = [spectral, matrix_field(truth, shape), correlated_field(covariance, shape, ""), row_field(row, "")]
    assert isinstance(spectral, SpectralField)
    for field in fields:
        found = sampled_covariance(field, shape, monkeypatch)
        np.testing.assert_allclose(found, truth, atol=1e-12)  # float64 rounding


def test_the_fastest_sampler_for_each_shape():
    covariance, vector = Exponential(2), Circulant(Exponential(2).row((6, 8)))
    assert isinstance(correlated_field(covariance, (40,), ""), MatrixField)
    assert isinstance(correlated_field(covariance, (6, 8), ""), SeparableField)
    assert isinstance(correlated_field(covariance, (200,), ""), SpectralField)
    assert isinstance(correlated_field(covariance, (6, 200), ""), SpectralField)
    assert isinstance(correlated_field(vector, (6, 8), ""), SpectralField)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_a_torus_that_is_no_product(monkeypatch):
    distance = np.hypot(*np.meshgrid(*(np.minimum(np.arange(n), n - np.arange(n)) for n in (6, 7)), indexing="ij"))
    row = np.exp(-distance)
    stimulus = Copula((6, 7), Circulant(row), Normal())
    np.testing.assert_allclose(stimulus.covariance(), row, atol=1e-13)
    found = sampled_covariance(stimulus.latent.field, (6, 7), monkeypatch)
    np.testing.assert_allclose(found, matrix(row), atol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("shape", [(40,), (200,), (201,), (4, 7), (150, 2)])
def test_colouring_is_the_symmetric_root(shape):
    covariance = Exponential(1.7)
    pixels = int(np.prod(shape))
    noise = jnp.eye(pixels).reshape(pixels, *shape)
    root = np.asarray(correlated_field(covariance, shape, "").colour(noise)).reshape(pixels, pixels)
    np.testing.assert_allclose(root @ root.T, matrix(covariance.row(shape)), atol=1e-12)


@pytest.mark.parametrize("shape", [(200,), (201,), (5, 6)])
def test_sampled_fields_in_float32(shape):
    x = np.asarray(Gaussian(as_size(shape), 0.9).sample(jax.random.key(1), 4000), float)
    flat = x.reshape(len(x), -1)[:, :12]
    truth = matrix(SquaredExponential(0.9).row(shape)) if np.prod(shape) < 100 else None
    if truth is None:
        d = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
        truth = np.exp(-((d / 0.9) ** 2))
    assert_within(flat[:, :, None] * flat[:, None, :], truth[:12, :12], rounding=1e-5)


# Memory ---------------------------------------------------------------------------------------------------------------


def largest(jaxpr) -> int:
    """The size of the largest array anywhere in a computation."""
    sizes = [int(np.prod(v.aval.shape)) for eqn in jaxpr.eqns for v in (*eqn.outvars, *eqn.invars)]
    inner = [
        largest(getattr(value, "jaxpr", value))
        for eqn in jaxpr.eqns
        for entry in eqn.params.values()
        for value in (entry if isinstance(entry, tuple | list) else (entry,))
        if hasattr(getattr(value, "jaxpr", value), "eqns")
    ]
    return max([*sizes, *inner, 0])


@pytest.mark.parametrize("size", [257, 2**14, (256, 256), (30, 300)])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: Gaussian(size, 3),
        lambda size: NLGP(size, 3, 2),
        lambda size: Elliptical(size, 3, Shell()),
        lambda size: Copula(size, Exponential(3), Normal()),
    ],
)
def test_no_matrix_of_all_pixels_by_all_pixels(size, make):
    stimulus, n, pixels = make(size), 3, int(np.prod(size))
    assert max(leaf.size for leaf in jax.tree.leaves(stimulus)) <= pixels
    jaxpr = jax.make_jaxpr(lambda s, key: s.sample(key, n))(stimulus, jax.random.key(0)).jaxpr
    # Noise has a real and an imaginary part for each coefficient of half a spectrum, and bits come in pairs.
    assert n * pixels <= largest(jaxpr) <= 3 * n * pixels
    assert stimulus.covariance().size == pixels


def test_the_search_for_large_arrays_finds_them():
    jaxpr = jax.make_jaxpr(jax.jit(lambda x: (x[:, None] * x).sum()))(jnp.ones(50)).jaxpr
    assert largest(jaxpr) == 2500


# Any covariance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", COVARIANCES)
@given(data=st.data())
def test_every_covariance_is_a_correlation_or_refused(cls, data):
    covariance = drawn(data, cls)
    assert isinstance(covariance, AbstractCovariance)
    for shape in ((40,), (6, 9)):
        row = covariance.row(shape)
        assert row.shape == shape
        assert row.flat[0] == pytest.approx(1, abs=1e-12)
        truth = smallest(row)
        if truth < -2 * ROUNDING:
            with pytest.raises(ValueError, match="no covariance"):
                correlation_row(covariance, as_size(shape))
        elif truth > -ROUNDING / 2:
            np.testing.assert_allclose(correlation_row(covariance, as_size(shape)), row, atol=2 * ROUNDING)
