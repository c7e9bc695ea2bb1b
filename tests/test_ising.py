"""The Ising ring against full enumeration and against the closed form in sixty digits."""

from decimal import Decimal, localcontext

import jax
import numpy as np
import pytest
from scipy import stats

from helpers import RARE, assert_within
from localax.stimuli import Ising, Task
from localax.stimuli._ising import flip_probabilities

COUPLINGS = [-2.0, -0.7, 0.0, 0.4, 1.2, 3.0]


def states(n: int) -> np.ndarray:
    return 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


def probabilities(n: int, coupling: float) -> np.ndarray:
    """Every state's chance by its Boltzmann weight; on two pixels the bond counts twice, as the ring closes."""
    x = states(n)
    weight = np.exp(coupling * np.sum(x * np.roll(x, -1, axis=1), axis=1))
    return weight / weight.sum()


def closed_form(n: int, coupling: float) -> list[float]:
    """(t^d + t^(N-d))/(1 + t^N) (B-01), in sixty digits, so that strong couplings keep theirs."""
    with localcontext() as context:
        context.prec = 60
        up, down = Decimal(coupling).exp(), Decimal(-coupling).exp()
        t = (up - down) / (up + down)
        powers = [Decimal(1)]
        for _ in range(n):
            powers.append(powers[-1] * t)
        return [float((powers[d] + powers[n - d]) / (1 + powers[n])) for d in range(n)]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_every_state_has_its_probability(n, coupling):
    draws = 100_000
    x = np.asarray(Ising(n, coupling).sample(jax.random.key(n), draws))
    assert set(np.unique(x)) <= {-1.0, 1.0}
    counts = np.bincount(((x < 0) @ (1 << np.arange(n))).astype(int), minlength=2**n)
    expected = probabilities(n, coupling) * draws
    rare = expected < 10  # chi-square needs a few per cell: the rare states count together
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    if wanted[-1] < 10:
        assert observed[-1] < 60  # ten expected at most; sixty have a chance below 1e-20
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    assert stats.chisquare(observed, wanted).pvalue > RARE


@pytest.mark.parametrize("n", [2, 3, 6, 9])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_covariance_by_enumeration(n, coupling):
    x, p = states(n), probabilities(n, coupling)
    np.testing.assert_allclose(Ising(n, coupling).covariance(), (p * x[:, 0]) @ x, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 40, 41, 1000, 1001])
@pytest.mark.parametrize("coupling", [-50, -18, -15, -8, -2, -0.3, 0, 1e-17, 1e-3, 0.7, 3, 18, 50])
def test_covariance_in_closed_form(n, coupling):
    np.testing.assert_allclose(Ising(n, coupling).covariance(), closed_form(n, coupling), rtol=1e-11, atol=1e-15)


def test_neighbour_correlation_of_b01():
    assert Ising(12, 0.7).covariance()[1] == pytest.approx(0.6069, abs=5e-5)
    assert Ising(12, -0.7).covariance()[1] == pytest.approx(-0.6069, abs=5e-5)


@pytest.mark.parametrize(("n", "coupling"), [(1000, -2.0), (1000, 0.5), (1000, 3.0), (999, -1.0), (2, 1.0)])
def test_sampled_covariance_of_long_rings(n, coupling):
    x = np.asarray(Ising(n, coupling).sample(jax.random.key(3), 2000), float)
    power = np.abs(np.fft.rfft(x, axis=1)) ** 2
    products = np.fft.irfft(power, n, axis=1) / n  # every pair of pixels at one distance, averaged over the ring
    assert_within(products, closed_form(n, coupling))


def test_strong_couplings():
    key, draws = jax.random.key(5), 20_000
    aligned = np.asarray(Ising(9, 50).sample(key, draws))
    assert np.all(aligned == aligned[:, :1])
    assert_within(aligned[:, 0], 0.0)
    alternating = np.asarray(Ising(8, -50).sample(key, draws))
    assert np.all(alternating == -np.roll(alternating, 1, axis=1))
    frustrated = np.asarray(Ising(9, -50).sample(key, draws))
    equal = frustrated == np.roll(frustrated, 1, axis=1)
    assert np.all(equal.sum(1) == 1)  # an odd ring keeps one bond wrong, and it may be any
    assert stats.chisquare(equal.sum(0)).pvalue > RARE


@pytest.mark.parametrize("coupling", [-100, -20, -1e-300, 0, 1e-17, 0.5, 100])
@pytest.mark.parametrize("n", [2, 3, 50])
def test_flip_probabilities_are_probabilities(n, coupling):
    chances = flip_probabilities(n, float(coupling))
    assert chances.shape == (n - 1, 2)
    assert np.all((chances >= 0) & (chances <= 1))
    Ising(n, coupling).sample(jax.random.key(0), 3)


def test_marginal_and_symmetries():
    ring = Ising(12, 0.4)
    assert ring.marginal.variance() == 1
    assert ring.marginal.excess_kurtosis() == -2
    assert ring.shift_invariant
    assert ring.sign_symmetric
    assert Task([Ising(12, 0.3), Ising(12, 1.2)], [0, 1]).sign_symmetric
