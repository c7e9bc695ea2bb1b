"""Bumps, margins and Walsh expansions against loops over all vertices."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from helpers import matrix
from localax.stimuli import NLGP, BlockPulse, Gaussian, Ising, SinglePulse
from localax.theory import mean_gated_input
from localax.theory.hypercube import bump_input, chow, margin, relaxed_margin, separation, walsh_input
from localax.theory.hypercube._hypercube import ising_moment

pytestmark = pytest.mark.usefixtures("x64")
N, J = 9, 0.7
STATES = np.array(list(itertools.product([1.0, -1.0], repeat=N)))
WEIGHTS = np.exp(J * np.sum(STATES * np.roll(STATES, 1, axis=1), axis=1))
CHANCES = WEIGHTS / WEIGHTS.sum()
STIMULUS = Ising(N, J)


def enumerated(w):
    """E[X sign(<w,X>)]/2, ties at 0."""
    return 0.5 * (CHANCES * np.sign(np.round(STATES @ w, 9))) @ STATES


def at(pixels, heights):
    w = np.zeros(N)
    w[list(pixels)] = heights
    return w


@pytest.mark.parametrize(
    ("pixels", "heights"),
    [
        ([3], [2.0]),
        ([3], [-1.0]),
        ([3, 5], [1.0, 1.0]),
        ([3, 5], [1.0, -1.0]),
        ([3, 5], [1.0, 2.0]),
        ([5, 3], [2.0, -1.0]),
        ([0, 2, 7], [3.0, 1.5, 1.0]),
        ([0, 2, 7], [2.0, 1.5, 1.0]),
        ([0, 2, 7], [2.0, -1.5, 1.0]),
        ([0, 2, 7], [2.5, 1.5, 1.0]),
        ([7, 2, 0], [1.0, 1.0, 1.0]),
    ],
)
def test_bumps(pixels, heights):
    assert np.abs(bump_input(STIMULUS, pixels, heights) - enumerated(at(pixels, heights))).max() < 1e-14


def test_bump_constants_of_the_notes():
    """Eqs. 8 to 12 of the neuron notes with their factors 1/2 and 1/4, and three bumps that S e_i/2 misses by 0.2."""
    s = matrix(STIMULUS.covariance())
    assert np.allclose(bump_input(STIMULUS, 4, 1.0), s[4] / 2)
    assert np.allclose(bump_input(STIMULUS, [4, 6], [1, 1]), (s[4] + s[6]) / 4)
    assert np.allclose(bump_input(STIMULUS, [4, 6], [1.01, -1]), s[4] / 2)
    three = bump_input(STIMULUS, [0, 3, 6], [1.5, 1.2, 1])
    assert np.abs(three - s[0] / 2).max() > 0.15


def test_three_bumps_of_another_law():
    law = BlockPulse(12, 4)
    w = np.zeros(12)
    w[[1, 5, 7]] = [1, 1.2, -1]
    assert np.abs(bump_input(law, [1, 5, 7], [1, 1.2, -1]) - mean_gated_input(law, w).value).max() < 1e-14


@pytest.mark.parametrize("places", [[0, 1], [0, 3, 4, 8], [2, 2], [1, 2, 3], [0, 0, 0, 5], [1, 3, 4, 6, 7, 8]])
def test_moments_of_the_ring(places):
    truth = np.sum(CHANCES * np.prod(STATES[:, places], axis=1))
    assert abs(ising_moment(N, J, places) - truth) < 1e-14


def test_margin_is_the_smallest_sum():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 9):
        w = rng.normal(size=k)
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=k)))
        assert abs(margin(w) - np.abs(signs @ w).min()) < 1e-14


def test_margin_of_forty_weights():
    """Too many sums to list; a partition planted among them must be found."""
    rng = np.random.default_rng(1)
    w = rng.normal(size=39)
    planted = np.append(w, np.abs(w @ rng.choice([-1, 1], size=39)))
    assert margin(planted) < 1e-12
    with pytest.raises(ValueError, match="at most 40 of them; relaxed_margin bounds it beyond"):
        margin(np.ones(41))


def test_separation_by_trying_every_number_of_weights():
    rng = np.random.default_rng(2)
    fields = [rng.normal(size=7), np.array([5.0, 1, 1, 1, 0.5]), np.array([4.0, -3, 0.4, 0.3]), 3.0 ** -np.arange(8)]
    fields += [np.array([4.0, 2.6, 2.5, 0.3, 0.2]), np.exp(rng.normal(size=9) * 2)]
    for w in fields:
        size = np.sort(np.abs(w))[::-1]
        k = next(
            k
            for k in range(1, len(w) + 1)
            if np.abs(np.array(list(itertools.product([1.0, -1.0], repeat=k))) @ size[:k]).min() > size[k:].sum()
            or k == len(w)
        )
        found = separation(w)
        assert found.count == k
        assert found.exact
        assert abs(found.margin - margin(size[:k])) < 1e-14
        gate = np.zeros(len(w))
        gate[found.pixels] = np.asarray(w)[found.pixels]
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=len(w))))
        assert np.array_equal(signs @ w > 0, signs @ gate > 0)


def test_separation_of_a_localized_field_and_beyond_forty():
    star = 0.3 ** np.abs(np.arange(-30, 31))
    found = separation(star)
    assert (found.count, found.pixels[0], found.exact) == (1, 30, True)
    flat = separation(np.ones(60))
    assert (flat.count, flat.exact, flat.margin) == (60, False, 0.0)


@pytest.mark.parametrize("w", [[3.0, 1, 1], [1.0, 1, 1], [2.0, 1, 1], [5.0, 1, 0.5, 0.2], [1.0, 2, 3, 4]])
def test_relaxed_margin_is_the_value_of_the_semidefinite_programme(w):
    """min over unit vectors v_i of |sum w_i v_i|, by descent from several starts in the test."""
    w = np.array(w)

    def length(angles):
        v = angles.reshape(len(w), -1)
        v = v / np.linalg.norm(v, axis=1, keepdims=True)
        return np.sum((w @ v) ** 2)

    rng = np.random.default_rng(0)
    best = min(optimize.minimize(length, rng.normal(size=len(w) ** 2), tol=1e-14).fun for _ in range(5))
    assert abs(relaxed_margin(w) - np.sqrt(best)) < 1e-4  # square root of an optimum near 0
    assert relaxed_margin(w) <= margin(w) + 1e-12


def test_chow_and_walsh():
    w = np.random.default_rng(4).normal(size=N)
    uniform = (np.sign(STATES @ w) @ STATES) / 2**N
    assert np.abs(chow(w) - uniform).max() < 1e-14
    s = matrix(STIMULUS.covariance())
    assert np.abs(walsh_input(STIMULUS, w, degree=1) - s @ uniform / 2).max() < 1e-14
    assert np.abs(walsh_input(STIMULUS, w, degree=N) - enumerated(w)).max() < 1e-14
    errors = [np.linalg.norm(walsh_input(STIMULUS, w, degree=d) - enumerated(w)) for d in (1, 3, 5, 9)]
    assert errors[0] > 0.1 * np.linalg.norm(enumerated(w))  # the notes' sum is no good approximation
    assert errors[-1] < 1e-13


def test_the_sum_of_the_notes_is_the_first_walsh_degree():
    """sum_j E[g_j X] with g_j of Eqs. 20 to 22 is 2^(n-2) S chow(w)."""
    w = np.random.default_rng(5).normal(size=N)
    inside = STATES[STATES @ w >= 0]
    total = np.zeros(N)
    for j in range(N):
        up, down = np.sum(inside[:, j] > 0), np.sum(inside[:, j] < 0)
        total += (CHANCES * np.where(STATES[:, j] > 0, up, down)) @ STATES
    assert np.abs(total - 2 ** (N - 2) * matrix(STIMULUS.covariance()) @ chow(w)).max() < 1e-10


def test_bad_input():
    for call, message in [
        (lambda: bump_input(Gaussian(8, 1), 0, 1.0), "on the hypercube"),
        (lambda: bump_input(SinglePulse(8, 2, 3, (0, 1)), 0, 1.0), "on the hypercube"),
        (lambda: bump_input(STIMULUS, [0, 0], [1.0, 2.0]), "different pixels"),
        (lambda: bump_input(STIMULUS, [0, 1, 2, 3], [1.0] * 4), "one to three"),
        (lambda: walsh_input(Ising(30, 0.3), np.ones(30), degree=1), "at most 20"),
        (lambda: walsh_input(NLGP(8, 1, 3), np.ones(8), degree=1), "on the hypercube"),
        (lambda: margin([]), "at least one"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
