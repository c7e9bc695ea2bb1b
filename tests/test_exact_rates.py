"""The true flow at the flat field: rates, waves of some size, thresholds and summed cumulants."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from localax import SettingError
from localax.stimuli import (
    NLGP,
    AbstractStimulus,
    Affine,
    CentreSurround,
    Copula,
    Elliptical,
    Erf,
    Filtered,
    Gaussian,
    GaussianClone,
    Ising,
    Kur,
    PeriodicSquaredExponential,
    Surface,
    Task,
    hypercube_states,
)
from localax.theory.steady import (
    critical_value,
    edgeworth_growth_rates,
    exact_critical_value,
    exact_flat_height,
    exact_growth_rates,
    flat_growth_rates,
    growth_quotient,
    mode_fixed_points,
    summed_cumulant,
)
from localax.theory.steady._zero_sum import _ising, _states

MANY = 2**13
"""One number of samples, so that few programs are compiled."""


def binary(short, long, labels=(0, 1)):
    return Task([short, long], labels)


def nodes(order=48):
    x, w = np.polynomial.hermite_e.hermegauss(order)
    return x, w / np.sqrt(2 * np.pi)


def mapped(stimulus):
    """The map from normals to pixels, in float64."""

    def m(z):
        with jax.enable_x64(True):
            return np.asarray(stimulus.marginal.from_normal(jnp.asarray(z, jnp.float64)))

    return m


# Rates ----------------------------------------------------------------------------------------------------------------


def two_pixels(stimulus):
    """A_1 and E|S| of two pixels: S = 0 where Z_1 = -Z_0, so one integral along that line, and one over the plane."""
    rho = float(stimulus.latent.row[1])
    u, w = nodes()
    m = mapped(stimulus)
    spread = np.sqrt((1 - rho) / 2)  # the density of (u, -u) falls like exp(-u^2/(1 - rho))
    at = spread * u
    h = 1e-4
    slope = (m(at + h) - m(at - h)) / (2 * h)
    line = 1 / (2 * np.pi * np.sqrt(1 - rho**2)) * np.sqrt(2 * np.pi) * spread
    power = line * np.sum(w * 4 * m(at) ** 2 / slope)
    a, b = np.sqrt((1 + rho) / 2), np.sqrt((1 - rho) / 2)
    s, ws = np.polynomial.legendre.leggauss(80)
    s, ws = 4.5 * (s + 1), 4.5 * ws  # the sum's latent is positive exactly where S is
    grid = m(a * s[:, None] + b * u) + m(a * s[:, None] - b * u)
    size = 2 * np.sum((ws * np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi))[:, None] * w * grid)
    return power, size


@pytest.mark.slow
def test_two_pixels_by_quadrature():
    short, long = Kur(2, 0.8, 8.0), Kur(2, 1.5, 8.0)
    power, size = two_pixels(long)
    l0, l1 = (np.fft.fft(s.covariance()).real for s in (short, long))
    truth = power * (l0[0] + l1[0]) / size - (l0[1] + l1[1]) / 2
    found = exact_growth_rates(binary(short, long), samples=MANY)
    assert abs(found.value[1] - truth) < 5 * found.standard_error[1] + 5e-5  # float32 for one sample
    assert found.standard_error[1] < 0.001
    assert found.value[0] == pytest.approx(-(l0[0] + l1[0]) / 2)


@pytest.fixture(scope="module")
def few():
    """Few pixels of a law far from Gaussian."""
    return binary(NLGP(5, 0.7, 0.9), NLGP(5, 1.4, 0.9))


@pytest.mark.slow
def test_waves_of_some_size_against_plain_samples(few):
    """f by plain samples at the field itself: no latent mean, no root, no controls."""
    eps, n = 0.3, 200_000
    x = np.asarray(few.stimuli[1].sample(jax.random.key(7), n), float)
    wave = np.cos(2 * np.pi * np.arange(5) / 5)
    gate = np.sign(x @ (1 + eps * wave))
    along, flat = gate * (x @ wave) / (2 * eps), gate * x.sum(1)
    l0, l1 = (np.fft.fft(s.covariance()).real for s in few.stimuli)
    scale = (l0[0] + l1[0]) * 5 / 2.5
    truth = scale * along.mean() / flat.mean() - (l0[1] + l1[1]) / 2
    noise = scale / flat.mean() * np.std(along - flat * along.mean() / flat.mean()) / np.sqrt(n)
    found = growth_quotient(few, [1e-3, eps], samples=MANY)
    assert abs(found.value[1] - truth) < 5 * np.hypot(noise, found.standard_error[1])
    # A small wave grows at the rate of the linearised flow: a sample's own error here is of order eps.
    rate = exact_growth_rates(few, samples=MANY)
    assert abs(found.value[0] - rate.value[1]) < 2e-3


def test_elliptical_laws_are_exact_and_copulas_tend_to_them():
    surface = binary(*(Elliptical(12, s, Surface()) for s in (0.7, 1.8)))
    points = mode_fixed_points(surface)
    rates = exact_growth_rates(surface)
    assert np.allclose(rates.value[:7], points.growth[0], atol=1e-12)
    assert np.all(rates.standard_error == 0)
    nearly = binary(NLGP(5, 0.7, 0.01), NLGP(5, 1.4, 0.01))
    clone = binary(*(GaussianClone(s) for s in nearly.stimuli))
    found = exact_growth_rates(nearly, samples=MANY)
    # What is left of the kurtosis, -8e-4, moves rates by a tenth of that.
    assert np.allclose(found.value, exact_growth_rates(clone).value, atol=2e-4)


def test_scale_sign_labels_and_shares():
    """Pixels times 2: rates times 4. Labels times 3: the same flow in other units, the same rates."""
    plain = binary(NLGP(5, 0.7, 0.9), NLGP(5, 1.4, 0.9))
    double = binary(*(Affine(s, -2.0) for s in plain.stimuli), labels=(0, 3))
    one, other = (exact_growth_rates(task, samples=MANY) for task in (plain, double))
    assert np.allclose(other.value, 4 * one.value, rtol=1e-9)
    assert np.allclose(other.standard_error, 4 * one.standard_error, rtol=1e-9)
    assert np.allclose(one.value[1:], one.value[:0:-1])


def test_torus_has_its_symmetry():
    task = binary(NLGP((3, 3), 0.7, 0.5), NLGP((3, 3), 1.2, 0.5))
    rates = exact_growth_rates(task, samples=MANY)
    assert rates.value.shape == (3, 3)
    assert np.allclose(rates.value[1, 2], rates.value[2, 1])
    assert abs(rates.value[0, 1] - rates.value[1, 0]) < 5 * np.hypot(*rates.standard_error[[0, 1], [1, 0]])


class Hidden(AbstractStimulus):
    """A law that says nothing of itself but its covariance."""

    size: int = eqx.field(static=True)
    inner: Gaussian

    def draw(self, key, n, dtype):
        return self.inner.draw(key, n, dtype)

    def covariance(self):
        return self.inner.covariance()

    @property
    def marginal(self):
        return self.inner.marginal


def hidden(inner) -> Hidden:
    return Hidden(5, inner)  # pyright: ignore[reportCallIssue] (its marginal is a property)


def test_a_law_of_ones_own_by_a_window():
    known = binary(Gaussian(5, 0.7), Gaussian(5, 1.4))
    own = binary(*(hidden(s) for s in known.stimuli))
    truth, found = exact_growth_rates(known).value, exact_growth_rates(own, samples=60_000)
    assert np.all(np.abs(found.value - truth)[1:] < 5 * found.standard_error[1:])
    assert found.standard_error[1] < 0.1
    quotients = [growth_quotient(task, 0.3, samples=60_000) for task in (known, own)]
    assert abs(quotients[0].value - quotients[1].value) < 5 * quotients[1].standard_error


# Pixels +-1 -----------------------------------------------------------------------------------------------------------


def test_spins_by_counting():
    """The coarse rate from all states, and the quotient from f at the field itself."""
    task = binary(Ising(6, 0.3), Ising(6, 0.7))
    x = hypercube_states(6)
    weight = np.exp(0.7 * np.sum(x * np.roll(x, 1, 1), 1))
    weight /= weight.sum()
    l0, l1 = (np.fft.fft(s.covariance()).real for s in task.stimuli)
    total, waves = x.sum(1), np.abs(np.fft.fft(x)) ** 2
    power = (weight * (total == 0)) @ waves / 2
    truth = power * (l0[0] + l1[0]) / (weight @ np.abs(total)) - (l0 + l1) / 2
    assert np.allclose(exact_growth_rates(task).value, truth)
    assert float(exact_flat_height(task).value) == pytest.approx(weight @ np.abs(total) / (6 * (l0[0] + l1[0])))
    v = np.cos(2 * np.pi * np.arange(6) / 6)
    quotients = []
    for wave in (v, np.sin(2 * np.pi * np.arange(6) / 6)):
        gate = np.sign(np.round(x @ (1 + 0.2 * wave), 9))
        quotients.append(((weight * gate) @ (x @ wave) / 0.4 / 3, (weight * gate) @ total / 6))
    along, flat = np.mean(quotients, 0)
    found = growth_quotient(task, 0.2)
    assert found.value == pytest.approx(along * (l0[0] + l1[0]) / flat - (l0[1] + l1[1]) / 2)


def test_odd_numbers_of_spins_let_small_waves_decay():
    task = binary(Ising(7, 0.3), Ising(7, 0.7))
    decay = -np.sum([np.fft.fft(s.covariance()).real for s in task.stimuli], axis=0) / 2
    assert np.allclose(exact_growth_rates(task).value, decay)


def test_transfer_matrices_agree_with_states():
    for size in (8, 9):
        one, other = _ising(Ising(size, -0.4)), _states(Ising(size, -0.4))
        assert np.allclose(one.power, other.power, atol=1e-12)
        assert one.size == pytest.approx(other.size, rel=1e-12)


# Many pixels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda s: Kur(24, s, 5.6), lambda s: NLGP(24, s, 0.5), lambda s: NLGP(24, s, 1.0)])
def test_independent_pixels_have_their_own_cumulant(make):
    law = make(0.1)
    found = summed_cumulant(law)
    assert float(found.value) == pytest.approx(law.marginal.excess_kurtosis(), abs=1e-4)


def test_cumulant_of_two_pixels_by_quadrature():
    law = NLGP(2, 1.0, 0.6)
    rho = float(law.latent.row[1])
    u, w = nodes()
    m = mapped(law)
    both = m(np.sqrt((1 + rho) / 2) * u[:, None] + np.sqrt((1 - rho) / 2) * u)
    both = both + m(np.sqrt((1 + rho) / 2) * u[:, None] - np.sqrt((1 - rho) / 2) * u)
    moment = [np.sum(np.outer(w, w) * both**p) for p in (2, 4)]
    assert float(summed_cumulant(law).value) == pytest.approx((moment[1] - 3 * moment[0] ** 2) / 2, abs=1e-4)


def test_cumulant_of_few_states_of_ellipses_and_of_samples():
    x = hypercube_states(8)
    weight = np.exp(0.4 * np.sum(x * np.roll(x, 1, 1), 1))
    weight /= weight.sum()
    moment = [weight @ x.sum(1) ** p for p in (2, 4)]
    truth = (moment[1] - 3 * moment[0] ** 2) / 8
    assert float(summed_cumulant(Ising(8, 0.4)).value) == pytest.approx(truth)
    assert float(summed_cumulant(Affine(Ising(8, 0.4), 2.0)).value) == pytest.approx(16 * truth)
    assert float(summed_cumulant(Gaussian(8, 1.0)).value) == 0
    sampled = summed_cumulant(hidden(Gaussian(5, 1.0)), samples=50_000)
    assert abs(float(sampled.value)) < 5 * float(sampled.standard_error)


def test_the_expansion_meets_the_exact_rates_where_eq_5_does_not():
    """Four times the pixels: an error of second order in 1/N falls to a sixteenth, one of first order to a quarter.

    Spins have exact rates at any size. Their sums lie on a lattice of spacing 2, which makes E|S| smaller than an
    integral by 2^2/12 over the variance of S (Euler and Maclaurin, at the kink of |S|); that is taken out.
    """
    errors = []
    for size in (60, 240):
        task = binary(Ising(size, 0.1), Ising(size, 0.3))
        l0, l1 = (np.fft.fft(s.covariance()).real for s in task.stimuli)
        drive = exact_growth_rates(task).value[1] + (l0[1] + l1[1]) / 2
        exact = drive * (1 - 1 / (3 * size * l1[0])) - (l0[1] + l1[1]) / 2
        errors.append([abs(rates(task)[1] - exact) for rates in (edgeworth_growth_rates, flat_growth_rates)])
    first, eq5 = np.array(errors[0]) / np.array(errors[1])
    assert 13 < first < 20
    assert 3 < eq5 < 5
    gaussian = binary(Gaussian(12, 0.7), Gaussian(12, 1.8))
    assert np.allclose(edgeworth_growth_rates(gaussian), exact_growth_rates(gaussian).value)


# Thresholds -----------------------------------------------------------------------------------------------------------


def test_threshold_is_where_the_rate_vanishes():
    def tasks(gain):
        return binary(NLGP(5, 0.7, gain), NLGP(5, 1.4, gain))

    found = exact_critical_value(tasks, 0.1, 1.5, samples=MANY)
    rates = exact_growth_rates(tasks(float(found.value)), samples=MANY, seed=1)
    slope = (exact_growth_rates(tasks(1.01 * float(found.value)), samples=MANY, seed=1).value - rates.value).max() / (
        0.01 * float(found.value)
    )
    away = abs(rates.value[1:].max() / slope)
    assert away < 5 * np.hypot(rates.standard_error[1] / slope, float(found.standard_error))
    assert float(found.standard_error) < 0.02 * float(found.value)
    assert 0.1 < critical_value(tasks, 0.1, 1.5, rates=edgeworth_growth_rates) < 1.5


def test_bad_input(few):
    with pytest.raises(SettingError, match="exact_growth_rates: task"):
        exact_growth_rates(binary(Affine(few.stimuli[0], 1.0, 1.0), few.stimuli[1]))
    with pytest.raises(SettingError, match="of labels under which a flat field can rest"):
        exact_growth_rates(binary(*few.stimuli, labels=(0, -1)), samples=MANY)
    with pytest.raises(SettingError, match="growth_quotient: eps"):
        growth_quotient(few, [0.1, 0.0])
    with pytest.raises(SettingError, match="growth_quotient: mode"):
        growth_quotient(few, 0.1, mode=(1, 1))
    with pytest.raises(SettingError, match="it is unstable at both"):
        exact_critical_value(lambda gain: binary(Gaussian(5, 1.4), Gaussian(5, 0.7 + gain)), 0, 0.1)
    with pytest.raises(SettingError, match="summed_cumulant: stimulus"):
        summed_cumulant(Affine(Gaussian(5, 1.0), 1.0, 1.0))
    with pytest.raises(SettingError, match="edgeworth_growth_rates: task"):
        edgeworth_growth_rates(Task(few.stimuli, lambda x: x.sum(1)))
    assert jnp.zeros(1).dtype == jnp.float32  # nothing leaves JAX in float64


# At the ends ----------------------------------------------------------------------------------------------------------


def test_a_ring_that_is_one_number():
    """Class 1 has no waves: only the white class 0 pulls on them, by -1/2."""
    task = binary(Ising(8, 0.0), Ising(8, 100.0))
    np.testing.assert_allclose(flat_growth_rates(task), [-4.5, *[-0.5] * 7], atol=1e-9)
    np.testing.assert_allclose(exact_growth_rates(task).value, [-4.5, *[-0.5] * 7], atol=1e-9)
    constant = Copula(8, PeriodicSquaredExponential(80.0), Erf(3.0))
    with pytest.raises(SettingError, match="fields that have waves"):
        exact_growth_rates(binary(constant, constant), samples=MANY)


@pytest.mark.parametrize("rates", [flat_growth_rates, exact_growth_rates])
@pytest.mark.parametrize("law", [Ising(6, -100.0), Filtered(Ising(6, 0.5), CentreSurround())])
def test_pixels_that_sum_to_zero_have_no_flat_field(rates, law):
    with pytest.raises(SettingError, match="pixels that sum to 0"):
        rates(binary(Affine(law, 0.5), law))


@pytest.mark.parametrize("coupling", [-1e-300, -2.0, -10.0, -100.0])
def test_a_frustrated_ring_has_rates_at_any_coupling(coupling):
    """1 + tanh^7 J is 1e-86 at J = -100, and no rounding: the same as counting states."""
    ring = Ising(7, coupling)
    found, counted = _ising(ring), _states(ring)
    assert found.size == pytest.approx(counted.size, rel=1e-9)
    np.testing.assert_allclose(found.power, counted.power, atol=1e-9)


def test_a_gain_without_a_density_says_that_it_is_not_known():
    rates = exact_growth_rates(binary(NLGP(8, 0.5, 1e6), NLGP(8, 1, 1e6)), samples=MANY)
    assert np.all(np.isnan(rates.standard_error[1:]))
