"""Measured assumptions: stimuli whose answer is known, and standard errors that mean what they say."""

import jax
import numpy as np
import pytest

from localax.stimuli import (
    NLGP,
    BlockPulse,
    Check,
    Elliptical,
    Empirical,
    Gaussian,
    Ising,
    RadialStudentT,
    Shell,
    SinglePulse,
    conditional_covariance,
    conditional_mean,
    sign_symmetry,
    translation_invariance,
    weak_dependence,
)

CHECKS = (weak_dependence, translation_invariance, sign_symmetry, conditional_mean, conditional_covariance)
ROUNDING = 1e-10
"""Below it a number is rounding of float64 sums, whatever its standard error."""


def sigmas(check: Check) -> float:
    return check.value / max(check.standard_error, ROUNDING)


def holds(check: Check) -> bool:
    return abs(check.value) <= 6 * check.standard_error + ROUNDING


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("stimulus", [Gaussian(40, 2), Gaussian((8, 9), 0.8)], ids=["ring", "torus"])
def test_a_gaussian_satisfies_them_all(check, stimulus):
    found = check(stimulus, n=5000)
    assert holds(found), found


@pytest.mark.parametrize("check", CHECKS)
def test_an_ising_ring_satisfies_them_all(check):
    found = check(Ising(40, 0.7), n=5000)
    assert holds(found), found


def test_two_values_make_a1_exact():
    """E[X | X_i] is a line through any two points, and -X as likely as X makes Cov[X | X_i] the same for both."""
    assert abs(conditional_mean(Ising(20, 0.7), n=2500).value) < 1e-9
    assert holds(conditional_covariance(Ising(20, 0.7), n=5000))


@pytest.mark.slow
@pytest.mark.parametrize("radial", [RadialStudentT(9), Shell()], ids=["t", "shell"])
def test_elliptical_laws_tie_distant_pixels(radial):
    stimulus = Elliptical(8, 1, radial)
    assert sigmas(weak_dependence(stimulus)) > 6
    assert sigmas(conditional_covariance(stimulus)) > 6
    assert holds(translation_invariance(stimulus))
    assert holds(sign_symmetry(stimulus))
    assert holds(conditional_mean(stimulus))  # linear for every elliptical law


def test_the_size_of_weak_dependence():
    """All pixels one coin: P(both) - P(a) P(b) = 1/4, the most there is."""
    coin = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], size=(5000, 1)), 8, axis=1)
    assert weak_dependence(coin).value == pytest.approx(0.25, abs=1e-3)
    # A Gaussian pixel and one opposite, correlation r: P(both positive) - 1/4 = arcsin(r)/(2 pi).
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 2))
    ring = np.stack([z[:, 0], z[:, 1] * 0.8 + z[:, 0] * 0.6], axis=1)
    found = weak_dependence(ring)
    assert abs(found.value - np.arcsin(0.6) / (2 * np.pi)) < 6 * found.standard_error


def test_pulses_from_0_to_1_are_not_sign_symmetric():
    skewed = sign_symmetry(SinglePulse(40, 4, 8, (0, 1), complement=False), n=5000)
    assert sigmas(skewed) > 6
    assert holds(sign_symmetry(SinglePulse(40, 4, 8), n=5000))
    assert holds(translation_invariance(SinglePulse(40, 4, 8, (0, 1), complement=False), n=5000))


def test_uneven_samples_are_not_translation_invariant():
    x = np.asarray(Gaussian(20, 1.5).sample(jax.random.key(0), 5000))
    assert holds(translation_invariance(x))
    assert sigmas(translation_invariance(x * np.linspace(0.8, 1.2, 20))) > 6
    assert sigmas(translation_invariance(x + np.linspace(0, 0.5, 20))) > 6
    cut = np.asarray(Gaussian(40, 1.5).sample(jax.random.key(0), 5000))[:, :20]  # neighbours at the seam are strangers
    assert sigmas(translation_invariance(cut)) > 6


def test_a_bent_conditional_mean_is_seen():
    """X_j = X_i^3 up to noise: its mean given X_i is a cubic."""
    z = np.random.default_rng(3).normal(size=(5000, 1))
    bent = np.concatenate([z, z**3 / np.sqrt(15) + 0.1 * np.random.default_rng(4).normal(size=(5000, 1))], axis=1)
    assert sigmas(conditional_mean(bent)) > 6


def test_a_conditional_variance_that_grows_is_seen():
    rng = np.random.default_rng(5)
    z, w = rng.normal(size=(5000, 1)), rng.normal(size=(5000, 3))
    assert sigmas(conditional_covariance(np.c_[z, np.abs(z) * w])) > 6
    assert holds(conditional_covariance(np.c_[z, w]))


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_standard_errors_are_calibrated(check):
    """Over 40 seeds of a stimulus that satisfies all, values scatter about 0 as their errors say.

    Values are near-quadratic forms, so their z-scores are no normals; their mean is within 6 of its own errors from
    0 (weak dependence is the largest of four, hence positive: the mean of four half-normals' largest is 1.5), and
    none is beyond 6.
    """
    scores = []
    for seed in range(40):
        found = check(Gaussian(12, 1), n=1000, seed=seed)
        scores.append(found.value / found.standard_error)
    scores = np.array(scores)
    assert np.all(np.abs(scores) < 6)
    expected = 1.5 if check is weak_dependence else 0.0
    assert abs(scores.mean() - expected) < 6 * scores.std() / np.sqrt(40)
    assert 0.3 < scores.std() < 2


def test_a_check_says_what_it_means():
    found = conditional_mean(BlockPulse(8, 2), n=500)
    assert str(found) == f"{found.name}: {found.value:.3g} +- {found.standard_error:.2g} ({found.meaning})"
    assert "A1" in found.name
    assert "linear" in found.meaning


def shifted(x):
    """Every sample with all its shifts and both signs: invariant by construction."""
    orbit = np.concatenate([np.roll(x, d, axis=1) for d in range(x.shape[1])])
    return np.concatenate([orbit, -orbit])


@pytest.mark.parametrize("check", [translation_invariance, sign_symmetry])
def test_data_invariant_by_construction_pass_as_a_stimulus(check):
    """Drawn with replacement they would fail: a sample that comes twice looks like a violation."""
    data = shifted(np.random.default_rng(6).normal(size=(50, 10)) ** 3)
    assert holds(check(Empirical(data)))
    rng = np.random.default_rng(7)
    assert holds(check(Empirical(rng.permutation(data))))
    assert abs(check(Empirical(rng.permutation(data))).value) < 1e-3


@pytest.mark.parametrize("check", CHECKS)
def test_a_data_set_is_taken_as_the_samples_it_holds(check):
    x = np.asarray(NLGP(12, 1, 3).sample(jax.random.key(5), 5000))
    assert check(Empirical(x)) == check(x)
    assert holds(check(Empirical(x))) or check is weak_dependence


def test_data_and_stimulus_give_the_same():
    stimulus = Ising(8, 0.4)
    x = stimulus.sample(jax.random.key(3), 500)
    for check in CHECKS:
        assert check(stimulus, n=500, seed=3) == check(np.asarray(x))
