"""The noise of a gradient where tails are heavy: against moments, samples and the stable limit."""

import math

import numpy as np
import pytest
import scipy

from localax import theory
from localax._errors import SettingError

SIZES = [1e2, 1e3, 1e4, 1e5]


def test_with_light_tails_it_is_that_of_the_variance():
    """By the central limit theorem D is normal; its fourth cumulant falls as 1/B, which leaves 1e-4 at 10^5 samples."""
    df = 60.0
    # G = 2 (df - 2) t^2/q behind a gate: E G^2 = 4 (df-2)^2 E t^4 E q^-2 / 2, and E q^-2 = 1/((df-2)(df-4)).
    variance = 4 * (df - 2) ** 2 * 3 / ((df - 2) * (df - 4)) / 2 - 1
    (found,) = theory.student_batch_noise(df, [1e5])
    median = scipy.stats.norm.ppf(0.75) * math.sqrt(2 * variance / 1e5)
    assert found == pytest.approx(median, rel=1e-3)


@pytest.mark.parametrize("df", [2.3, 3.0, 5.0])
def test_it_is_the_median_over_drawn_batches(df):
    rng, size = np.random.default_rng(0), 100
    terms = 2 * (df - 2) * rng.normal(size=(8000, size)) ** 2 / rng.chisquare(df, size=(8000, size))
    means = (terms * (rng.random(terms.shape) < 0.5)).mean(1)
    ranked = np.sort(np.abs(means[::2] - means[1::2]))
    reach = 2 * math.sqrt(len(ranked))  # four standard errors, in ranks
    low, high = ranked[[int(len(ranked) / 2 - reach), int(len(ranked) / 2 + reach)]]
    assert low < theory.student_batch_noise(df, [size])[0] < high


def test_at_large_batches_it_is_that_of_the_stable_law():
    """1 - psi goes as (c theta)^alpha: D is symmetric stable of scale (2 B c^alpha)^(1/alpha)/B."""
    df, size = 2.5, 1e9
    alpha = df / 2
    # P(G > x) = a x^-alpha by E |t|^df and the density of q at 0; c^alpha = a Gamma(1 - alpha) cos(pi alpha/2).
    moment = 2 ** (df / 2) * math.gamma((df + 1) / 2) / math.sqrt(math.pi)
    tail = 0.5 * (2 * (df - 2)) ** alpha * moment / (2**alpha * math.gamma(alpha) * alpha)
    scale = (2 * size * tail * math.gamma(1 - alpha) * math.cos(math.pi * alpha / 2)) ** (1 / alpha) / size
    (found,) = theory.student_batch_noise(df, [size])
    # The correction falls as B^(1 - 2/alpha) = B^-0.6.
    assert found == pytest.approx(scale * scipy.stats.levy_stable.ppf(0.75, alpha, 0), rel=1e-3)


@pytest.mark.parametrize(
    ("index", "exponent"), [(2.2, 2 / 2.2 - 1), (3, -1 / 3), (4, -0.5), (8, -0.5), (math.inf, -0.5)]
)
def test_exponents(index, exponent):
    assert theory.noise_exponent(index) == pytest.approx(exponent)


def test_mistakes_give_one_line():
    for call, message in (
        (lambda: theory.noise_exponent(2), "noise_exponent: tail_index must be above 2"),
        (lambda: theory.student_batch_noise(2, SIZES), "df must be above 2 and below 1000"),
        (lambda: theory.student_batch_noise(3, [10]), "batches must be a list of numbers, each at least 100"),
        (lambda: theory.student_batch_noise(3, [math.nan]), "batches must be numbers of samples"),
    ):
        with pytest.raises(SettingError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
