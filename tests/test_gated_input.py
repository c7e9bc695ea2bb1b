"""f(w) against a million samples, quadrature and enumeration; its four properties, and the one of its Jacobian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import localax as lx
from helpers import SIGMAS, matrix
from localax.stimuli import (
    NLGP,
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
    RadialStudentT,
    Shell,
    SinglePulse,
    Uniform,
)
from localax.theory import Estimate, mean_gated_input
from localax.theory._transfer import series_gate

pytestmark = pytest.mark.usefixtures("x64")


def field(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def pixel(n, i, height=1.0):
    w = np.zeros(n)
    w[i] = height
    return w


EXACT = {
    "Gaussian": (Gaussian(16, 2), field(16)),
    "torus": (Gaussian((4, 5), 0.6), field((4, 5))),
    "elliptical": (Elliptical(16, 2, Shell()), field(16)),
    "t": (Elliptical(16, 2, RadialStudentT(5)), field(16)),
    "filtered": (Filtered(Gaussian(16, 2), CentreSurround(1, 2, 0.5)), field(16)),
    "shifted Gaussian": (GaussianClone(SinglePulse(16, 2, 4, (0, 1), False)), field(16)),
    "few spins": (Ising(16, 0.7), field(16)),
    "many spins": (Ising(40, 0.7), field(40)),
    "pulses": (SinglePulse(16, 2, 4), field(16)),
    "pulses from 0": (SinglePulse(16, 2, 4, (0, 1), False), field(16)),
    "blocks": (BlockPulse(16, 3), field(16)),
    "NLGP at a pixel": (NLGP(16, 2, 3), pixel(16, 5, 2.0)),
    "Kur at a pixel": (Kur(16, 2, 5), pixel(16, 5, -1.0)),
    "copula at a pixel": (Copula(16, Exponential(2), Uniform()), pixel(16, 0)),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.slow
def test_exact_agrees_with_many_samples(name):
    stimulus, w = EXACT[name]
    exact = mean_gated_input(stimulus, w)
    samples = mean_gated_input(stimulus, w, method="sampled", samples=2**18, seed=1)  # one batch of 16 pixels
    gap = np.abs(exact.value - samples.value)
    assert np.all(gap < SIGMAS * samples.standard_error + exact.standard_error + 1e-6)  # float32 samples
    assert exact.value.shape == stimulus.shape


def test_empirical_is_the_mean_over_its_samples():
    x = field((50, 7))
    w = field(7, seed=2)
    expected = np.mean([one if one @ w >= 0 else 0 * one for one in x.astype(np.float32).astype(float)], axis=0)
    assert np.allclose(mean_gated_input(Empirical(x), w).value, expected, atol=1e-12)


def test_nlgp_at_a_pixel_by_quadrature():
    """E[1(Z_i > 0) erf(g Z_j)]/norm by two-dimensional quadrature in the test, and the peak of Eq. 36."""
    g, n = 1.3, 8
    stimulus = NLGP(n, 1.5, g)
    norm = np.sqrt(2 / np.pi * np.arcsin(2 * g**2 / (1 + 2 * g**2)))
    got = mean_gated_input(stimulus, pixel(n, 0))
    for j in (1, 2):
        r = float(np.asarray(stimulus.latent.row)[j])

        def inner(z, r=r):
            return special.erf(g * r * z / np.sqrt(1 + 2 * g**2 * (1 - r**2))) * stats.norm.pdf(z)

        assert abs(float(got.value[j]) - integrate.quad(inner, 0, np.inf, epsabs=1e-12)[0] / norm) < 1e-8
    assert abs(float(got.value[0]) - np.arctan(np.sqrt(2) * g) / (np.pi * norm)) < 1e-12


def test_kur_at_a_pixel_by_quadrature():
    """E[T(Z) Phi(r Z/sqrt(1 - r^2))] with scipy's own quantile of the algebraic law."""
    k, n = 7.0, 8
    stimulus = Kur(n, 1.5, k)
    got = mean_gated_input(stimulus, pixel(n, 0)).value
    norm = np.sqrt(special.beta(3 / k, 1 - 2 / k) / k)
    r = float(np.asarray(stimulus.latent.row)[1])

    def term(z):
        u = special.erf(z / np.sqrt(2))
        below = -np.expm1(k * np.log1p(-special.erfc(z / np.sqrt(2))))
        odd = special.ndtr(r * z / np.sqrt(1 - r**2)) - special.ndtr(-r * z / np.sqrt(1 - r**2))
        return u / below ** (1 / k) / norm * odd * stats.norm.pdf(z)

    assert abs(got[1] - integrate.quad(term, 0, 30, epsabs=1e-12, limit=200)[0]) < 1e-8


# Properties -----------------------------------------------------------------------------------------------------------

SYMMETRIC = ["Gaussian", "t", "few spins", "many spins", "pulses", "blocks"]


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.slow
def test_scale_sign_and_shift(name):
    """Properties 1 to 3 of the neuron notes."""
    stimulus, w = EXACT[name]
    f = mean_gated_input(stimulus, np.stack([w, 3.7 * w, -w, np.roll(w, 3)])).value
    assert np.allclose(f[1], f[0], atol=1e-10)
    assert np.allclose(f[2], -f[0], atol=1e-10)
    assert np.allclose(f[3], np.roll(f[0], 3), atol=1e-10)


def test_symmetry_of_the_law():
    """Property 4, corrected: AX ~ X gives f(A'w) = A^-1 f(w); for f(Aw), as printed, it is wrong."""
    s = matrix(Gaussian(6, 1).covariance())
    values, vectors = np.linalg.eigh(s)
    root = (vectors * np.sqrt(values)) @ vectors.T
    turn, _ = np.linalg.qr(field((6, 6)))
    a = root @ turn @ np.linalg.inv(root)
    stimulus, w = Gaussian(6, 1), field(6, seed=3)
    f = mean_gated_input(stimulus, np.stack([w, a.T @ w, a @ w])).value
    assert np.allclose(a @ s @ a.T, s)
    assert np.allclose(f[1], np.linalg.solve(a, f[0]), atol=1e-12)
    assert np.abs(f[2] - np.linalg.solve(a.T, f[0])).max() > 0.1


@pytest.mark.parametrize("name", ["Gaussian", "Ising"])
@pytest.mark.slow
def test_jacobian_is_symmetric_and_orthogonal_to_w(name):
    """J = E[delta(<w,X>) XX'], so J w = 0: by automatic differentiation of the closed form and of the series."""
    if name == "Gaussian":
        s = jnp.asarray(matrix(Gaussian(12, 1).covariance()))

        def f(w):
            return s @ w / jnp.sqrt(2 * jnp.pi * (w @ s @ w))

        w = jnp.asarray(field(12))
        assert np.allclose(f(w), mean_gated_input(Gaussian(12, 1), np.asarray(w)).value, atol=1e-14)
    else:
        gate = series_gate(np.tanh(0.5), 64)
        f, w = lambda w: gate(w)[0], jnp.asarray(field(12))
    jacobian = np.asarray(jax.jacfwd(f)(w))
    assert np.abs(jacobian @ w).max() < 1e-10
    # The series divides by |w|_1, so its smoothing has a slope of its own, as small as what it smooths.
    assert np.abs(jacobian - jacobian.T).max() < (1e-10 if name == "Gaussian" else 0.02)
    assert np.linalg.eigvalsh((jacobian + jacobian.T) / 2)[0] > -0.02


def test_mean_response_is_the_product_with_w():
    """<w, f(w)> = E ReLU(<w,X>)."""
    stimulus, w = EXACT["few spins"]
    x = np.asarray(stimulus.sample(jax.random.key(0), 400_000), float)
    relu = np.maximum(x @ w, 0)
    got = float(np.sum(w * mean_gated_input(stimulus, w).value))
    assert abs(got - relu.mean()) < SIGMAS * relu.std() / np.sqrt(len(relu))


# Methods, many fields, refusals --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_effective_is_exact_for_gaussians_and_close_otherwise():
    w = field(16)
    exact, near = (mean_gated_input(Gaussian(16, 2), w, method=m) for m in ("exact", "effective"))
    assert np.allclose(exact.value, near.value, atol=1e-12)
    assert np.all(np.isnan(near.standard_error))
    exact, near = (mean_gated_input(Ising(40, 0.7), field(40), method=m) for m in ("exact", "effective"))
    error = np.linalg.norm(exact.value - near.value) / np.linalg.norm(exact.value)
    assert 0.02 < error < 0.12  # .056 on average over random fields


def test_a_frustrated_ring_at_any_coupling():
    """An odd ring with one unequal bond, wherever: the mean over the 25 places and both signs."""
    n = 25
    w = 0.02 * np.random.default_rng(0).normal(size=n) + np.eye(n)[3]  # no state comes near 0
    walk = np.array([[(-1.0) ** ((i - start) % n) for i in range(n)] for start in range(n)])
    states = np.concatenate([walk, -walk])
    truth = np.mean(states * (states @ w >= 0)[:, None], axis=0)
    for coupling in (-19.0, -100.0):
        np.testing.assert_allclose(mean_gated_input(Ising(n, coupling), w).value, truth, atol=1e-5)


def test_many_fields():
    stimulus = Ising(10, 0.5)
    w = field((3, 2, 10))
    f = mean_gated_input(stimulus, w)
    assert isinstance(f, Estimate)
    assert f.value.shape == f.standard_error.shape == (3, 2, 10)
    assert np.allclose(f.value[1, 0], mean_gated_input(stimulus, w[1, 0]).value)
    assert np.all(f.standard_error == 0)


@pytest.mark.parametrize(
    "reckon", [lambda e: 2 * e, lambda e: e * 2.0, lambda e: e - e, np.sqrt, float, lambda e: np.ones(3) * e]
)
def test_an_estimate_does_not_lose_its_error_in_arithmetic(reckon):
    with pytest.raises(TypeError):
        reckon(Estimate(np.asarray(0.5), np.asarray(0.1)))


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.01821, 0.00021, "0.0182 +- 0.0002"),
        (1234.5, 12.3, "1234 +- 12"),
        (0.5, 0.0, "0.5 +- 0"),
        (0.5, np.nan, "0.5 +- nan"),
        ([0.5, 1.5], [0.1, 0.2], "[0.5 1.5]\n+- [0.1 0.2]"),
    ],
)
def test_an_estimate_in_print(value, error, text):
    assert str(Estimate(np.asarray(value), np.asarray(error))) == text


def test_bad_input():
    stimulus = Gaussian(8, 1)
    for w, options, message in [
        (np.zeros(8), {}, "different from 0"),
        (np.ones(7), {}, "last axes are the pixels"),
        (np.ones(8), {"method": "guess"}, "one of exact, effective, windows, sampled"),
        (np.ones(8), {"method": "sampled", "samples": 1}, "n must be a whole number >= 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            mean_gated_input(stimulus, w, **options)
    with pytest.raises(ValueError, match="no exact form is known for NLGP at this w; there is one for") as caught:
        mean_gated_input(NLGP(8, 1, 3), np.ones(8))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="centred"):
        mean_gated_input(SinglePulse(16, 2, 4, (0, 1)), np.ones(16), method="effective")
    assert lx.theory.mean_gated_input is mean_gated_input
