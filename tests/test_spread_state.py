"""What grows at a spread field where data are not shift invariant: against closed forms and the flat field's rates."""

import math

import jax
import numpy as np
import pytest

import localax as lx
from localax._errors import SettingError
from localax.stimuli import NLGP, Empirical, Gaussian
from localax.theory.steady import spread_state

N = 8


def covariances():
    rng = np.random.default_rng(0)
    return [a @ a.T / N + 0.5 * np.eye(N) for a in rng.normal(size=(2, N, N))]


def assert_at_rest(x, found, w):
    """A field that is at rest under the law moves under samples by no more than their noise, to first order in it."""
    field = found.field * np.sign(found.field @ w)
    moved = np.linalg.norm(found.rates * (found.directions @ (field - w)))
    terms = ((one @ w > 0) * (y - one @ w) * one.T for one, y in zip(x, (0.0, 1.0), strict=True))
    assert moved < 4 * math.sqrt(sum(np.var(t, axis=1).sum() / t.shape[1] for t in terms))


@pytest.fixture(scope="module")
def gaussian():
    """A spread state of Gaussian samples whose covariances have no symmetry."""
    rng = np.random.default_rng(1)
    x = [rng.normal(size=(40_000, N)) @ np.linalg.cholesky(s).T for s in covariances()]
    return x, spread_state(lx.Task([Empirical(one) for one in x], [0, 1]))


@pytest.mark.slow
def test_on_gaussian_data_it_is_the_closed_form(gaussian):
    """f = S_1 w/sqrt(2 pi w'S_1 w): its fixed point is the mode of least ratio, its Jacobian two terms."""
    x, found = gaussian
    s0, s1 = covariances()
    values, vectors = np.linalg.eig(np.linalg.solve(s1, s0))
    u = vectors[:, np.argmin(values.real)].real
    # S_1 u/sqrt(2 pi u'S_1 u) = height (S_0 + S_1) u/2 with S_0 u = r S_1 u
    w = u * 2 / ((1 + values.real.min()) * math.sqrt(2 * math.pi * (u @ s1 @ u)))
    spread = math.sqrt(w @ s1 @ w)
    slope = (s1 / spread - np.outer(s1 @ w, s1 @ w) / spread**3) / math.sqrt(2 * math.pi)
    rates = np.sort(np.linalg.eigvalsh(slope - (s0 + s1) / 2))[::-1]
    assert np.all(np.abs(found.rates - rates) < 5 * found.standard_error + 0.01)  # and the kernel's bias
    assert_at_rest(x, found, w)
    assert found.rates[0] < 0  # a maximum of J, as the ratio is the least
    assert not found.localized


def test_it_is_at_rest_and_its_rates_are_those_of_finite_differences(gaussian):
    """Of the smoothed velocity itself, written out here."""
    x, found = gaussian

    def velocity(w):
        total = np.zeros(N)
        for one, y in zip(x, (0.0, 1.0), strict=True):
            s = one.astype(np.float32).astype(float) @ w
            u = s / (np.sqrt(np.mean(s**2)) * len(s) ** (-1 / 13))
            gate = 0.5 * (1 + np.vectorize(math.erf)(u / math.sqrt(2)))
            gate += (7 * u - u**3) / 8 * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
            total += (gate * (y - s)) @ one.astype(np.float32).astype(float) / len(one)
        return total

    assert np.linalg.norm(velocity(found.field)) < 1e-8
    step = 1e-5 * found.directions[0]
    slope = found.directions[0] @ (velocity(found.field + step) - velocity(found.field - step)) / 2e-5
    assert slope == pytest.approx(found.rates[0], abs=2e-3)  # the width follows w, which the Jacobian leaves out


@pytest.mark.slow
def test_on_a_ring_it_is_the_flat_field_with_its_rates():
    """Samples of a shift-invariant law, given as if nothing were known of it."""
    task = lx.Task([NLGP(N, 0.5, 0.8), NLGP(N, 1.0, 0.8)], [0, 1])
    x = [np.asarray(s.sample(jax.random.key(i), 40_000)) for i, s in enumerate(task.stimuli)]
    found = spread_state(lx.Task([Empirical(one) for one in x], [0, 1]))
    exact = lx.theory.exact_growth_rates(task, samples=2**13)
    assert_at_rest(x, found, np.full(N, float(lx.theory.steady.exact_flat_height(task, samples=2**13).value)))
    rates = np.sort(exact.value)[::-1]
    assert np.all(np.abs(found.rates - rates) < 5 * np.hypot(found.standard_error, exact.standard_error.max()) + 0.01)


def test_mistakes_give_one_line():
    gaussian = [Gaussian(N, 0.5), Gaussian(N, 1.0)]
    for task, message in (
        (lx.Task(gaussian, [-1, 0]), "labels must have one that is positive"),
        (lx.Task(gaussian, [1, 1]), "two classes with different labels"),
    ):
        with pytest.raises(SettingError, match=message) as caught:
            spread_state(task)
        assert "\n" not in str(caught.value)
