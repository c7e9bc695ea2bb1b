"""Probability dominance: the closed form by quadrature and samples, the two objectives, and what each asks for."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import localax as lx
from helpers import SIGMAS, matrix
from localax.analysis import ipr, localized
from localax.stimuli import NLGP, Gaussian, Ising
from localax.theory import ascend_dominance, compare_dominance, difference_of_means, dominance, gabor_candidates
from localax.theory.steady import winning_mode

pytestmark = pytest.mark.usefixtures("x64")
TASK = lx.Task([Gaussian(40, 1), Gaussian(40, 3)], [0, 1])
SHARP = lx.Task([NLGP(40, 1, 100), NLGP(40, 3, 100)], [0, 1])
FIELDS = np.random.default_rng(0).normal(size=(3, 40))


def test_gaussian_form_by_quadrature():
    """4 int Phi(x/s0) p1(x) dx - 1, the integral in the notes, to 1e-10."""
    s0, s1 = (matrix(s.covariance()) for s in TASK.stimuli)
    got = dominance(TASK, FIELDS, method="exact")
    for w, value in zip(FIELDS, got.value, strict=True):
        a, b = np.sqrt(w @ s0 @ w), np.sqrt(w @ s1 @ w)

        def term(x, a=a, b=b):
            return special.ndtr(x / a) * stats.norm.pdf(x, scale=b)

        assert abs(value - (4 * integrate.quad(term, 0, 12 * b, epsabs=1e-13)[0] - 1)) < 1e-10


@pytest.mark.slow
def test_gaussian_form_by_a_million_samples():
    exact, drawn = dominance(TASK, FIELDS), dominance(TASK, FIELDS, method="sampled", samples=1_000_000, seed=2)
    assert np.all(np.abs(exact.value - drawn.value) < SIGMAS * drawn.standard_error)
    assert np.allclose(drawn.standard_error, np.sqrt(drawn.value * (1 - drawn.value) / 1e6), rtol=1e-3)


def test_constant_is_best_for_gaussians_in_one_place():
    """(2/pi) atan(s1/s0) is largest at the mode of least ratio of spectra, the mode that wins the Gaussian flow."""
    modes = np.stack([np.cos(2 * np.pi * k * np.arange(40) / 40) for k in range(21)])
    values = dominance(TASK, modes).value
    assert np.argmax(values) == 0
    assert np.all(np.diff(values) < 0)
    ratio = [np.fft.rfft(s.covariance()).real for s in TASK.stimuli]
    assert np.argmin(ratio[0] / ratio[1]) == 0 == int(winning_mode(TASK))
    assert abs(values[0] - 0.6667) < 1e-4


def test_place_and_average_are_different_objectives():
    """A bump on Gaussian data: .639 at one place, .87 averaged; the constant: equal."""
    bump = gabor_candidates((40,), widths=2.0, periods=np.inf)["bump(2)"]
    near = dominance(TASK, bump)
    far = dominance(TASK, bump, average=True, samples=40_000)
    assert abs(float(near.value) - 0.639) < 0.002
    assert abs(float(far.value) - 0.874) < SIGMAS * float(far.standard_error)
    flat = dominance(TASK, np.ones(40), average=True, samples=40_000)
    assert abs(float(flat.value - dominance(TASK, np.ones(40)).value)) < SIGMAS * float(flat.standard_error)
    magnitude = dominance(TASK, bump, average=True, response="magnitude", samples=40_000)
    assert abs(float(magnitude.value) - 0.867) < SIGMAS * float(magnitude.standard_error)


def test_ties_count_half():
    """On spins a single pixel always answers +-1."""
    task = lx.Task([Ising(10, 0.3), Ising(10, 0.7)], [0, 1])
    tie = dominance(task, np.eye(10)[0], samples=1000)
    assert float(tie.value) == 0.5
    swapped = lx.Task([Ising(10, 0.7), Ising(10, 0.3)], [0, 1])
    w = np.random.default_rng(1).normal(size=10)
    both = [dominance(t, w, samples=100_000, seed=s) for s, t in enumerate((task, swapped))]
    error = np.hypot(*(float(b.standard_error) for b in both))
    assert abs(float(both[0].value + both[1].value) - 1) < SIGMAS * error


@pytest.mark.parametrize("average", [False, True])
def test_the_size_of_a_field_does_not_count(average):
    """A tie is one up to rounding, whatever the size of the responses."""
    ring = lx.Task([Ising(10, 0.3), Ising(10, 0.7)], [0, 1])
    values = [dominance(ring, c * FIELDS[0, :10], average=average, samples=1000).value for c in (1.0, 1e-6, 1e6)]
    assert values[0] == values[1] == values[2]
    assert values[0] != 0.5


def test_difference_of_means_leads_to_the_constant():
    value, field = difference_of_means(TASK)
    assert np.allclose(field, 1 / np.sqrt(40))
    s0, s1 = (matrix(s.covariance()) for s in TASK.stimuli)
    assert abs(value - (s1 - s0).sum() / 40) < 1e-10


@pytest.mark.slow
def test_comparison_tells_sharp_from_gaussian_data():
    """At one place narrow bumps beat the constant on +-1 data and lose to it on Gaussian data."""
    rows = {row.name: row for row in compare_dominance(SHARP, samples=20_000)}
    assert rows["bump(1)"].pointwise > rows["constant"].pointwise + 0.05
    assert rows["localized gate"].pointwise > rows["constant"].pointwise + 0.05
    assert rows["localized gate"].averaged > 0.97
    rows = {row.name: row for row in compare_dominance(TASK, samples=20_000)}
    assert next(iter(rows)) in ("constant", "difference of means")
    assert rows["bump(2)"].averaged > rows["constant"].averaged + 0.1
    own = compare_dominance(TASK, {"mine": FIELDS[0]}, samples=1000)
    assert own[0].pointwise == float(dominance(TASK, FIELDS[0]).value)


@pytest.mark.slow
def test_ascent_localizes_on_sharp_data_only():
    w0 = np.random.default_rng(3).normal(size=(3, 40))
    sharp = ascend_dominance(SHARP, w0, steps=400, batch=500, rate=0.03)
    smooth = ascend_dominance(TASK, w0, steps=400, batch=500, rate=0.03)
    assert np.all(localized(sharp.final[:, 0]))
    assert np.max(ipr(smooth.final[:, 0])) < np.min(ipr(sharp.final[:, 0]))
    assert np.all(sharp.loss[:, -1] < sharp.loss[:, 0])
    assert np.all(dominance(TASK, smooth.final[:, 0]).value > dominance(TASK, w0).value)
    assert sharp.weights.shape == (3, 51, 1, 40)
    assert np.allclose(np.linalg.norm(sharp.final, axis=-1), 1)


def test_bad_input():
    for call, message in [
        (lambda: dominance(lx.Task([Gaussian(8, 1)] * 3, [0, 1, 2]), np.ones(8)), "two classes"),
        (lambda: dominance(lx.Task([Gaussian(8, 1)] * 2, [1, 1]), np.ones(8)), "different labels"),
        (lambda: dominance(TASK, np.ones(8)), "fields of"),
        (lambda: dominance(SHARP, np.ones(40), method="exact"), "closed form is for Gaussian"),
        (lambda: dominance(TASK, np.ones(40), average=True, response="cube"), "one of square, magnitude"),
        (lambda: ascend_dominance(TASK, np.zeros(40)), "not zero everywhere"),
        (lambda: compare_dominance(TASK, {}), "at least one field"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
