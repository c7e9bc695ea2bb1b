"""What experiments share and do not test by themselves: short cuts must have the law of the long way."""

import jax
import numpy as np
import pytest
from scipy import stats

import localax as lx
from helpers import RARE, matrix
from localax.experiments.toolkit.bulk_and_tails import BULKS, Law, laws, with_excess
from localax.experiments.toolkit.expansions import at, full, linear, taylor
from localax.experiments.toolkit.student_batches import _gradient, batch_sums
from localax.stimuli import NLGP, Algebraic, Elliptical, Erf, RadialStudentT, Uniform
from localax.theory import amplifier

N = 8
TASK = lx.Task([Elliptical(N, x, RadialStudentT(3)) for x in (0.5, 1.0)], [0, 1])
W = np.random.default_rng(0).normal(size=N)


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "count"), [(20, 4000), (4000, 600)])
def test_gradients_of_student_batches_have_the_law_of_drawn_ones(batch, count):
    """Both forms of the sums, all samples drawn and the largest alone; the tails are heavy, so laws are compared."""
    rng = np.random.default_rng(1)
    sums = batch_sums(rng, count * 2, batch // 2).reshape(count, 2, 5)
    roots = np.stack([_root(matrix(stimulus.covariance())) for stimulus in TASK.stimuli])
    with jax.enable_x64(True):
        noise = rng.normal(size=(count, 2, N))
        short = np.asarray(_gradient(np.tile(W, (count, 1)), sums / batch, roots, np.array([0.0, 1.0]), batch, noise))
    long = np.stack([_drawn(rng, roots, batch) for _ in range(count)])
    for direction in (W, roots[1] @ W, np.eye(N)[0], rng.normal(size=N)):
        assert stats.ks_2samp(short @ direction, long @ direction).pvalue > RARE
        assert stats.ks_2samp(short @ direction, 1.2 * long @ direction).pvalue < 1e-3  # a fifth would be seen


def _root(m):
    values, vectors = np.linalg.eigh(m)
    return vectors * np.sqrt(values) @ vectors.T


def _drawn(rng, roots, batch):
    """The gradient of (relu(w x) - y)^2 over a batch of half each class, sample by sample."""
    total = np.zeros(N)
    for root, y in zip(roots, (0.0, 1.0), strict=True):
        # unit variance: of t(3) it is 3, and z/sqrt(chi2) has that of t(3) over 3
        x = rng.normal(size=(batch // 2, N)) @ root / np.sqrt(rng.chisquare(3, size=(batch // 2, 1)))
        h = x @ W
        total += 2 * ((np.maximum(h, 0) - y) * (h > 0)) @ x
    return total / batch


def test_curves_are_the_amplifiers_they_stand_for():
    stimulus, a = NLGP(20, 1, 1), np.linspace(-0.999, 0.999, 41)
    phi = amplifier(stimulus)
    assert np.abs(at(full(stimulus), a) - phi(a)).max() < 1e-7
    assert np.abs(at(taylor(stimulus), a) - phi.taylor(3)(a)).max() < 1e-7
    assert np.abs(at(linear(), a) - np.sqrt(2 / np.pi) * a).max() < 1e-7


@pytest.mark.parametrize("bulk", BULKS)
def test_a_bulk_with_tails_has_the_kurtosis_that_is_wanted(bulk):
    """By the marginal's own moments, which are summed over its table."""
    for excess in (-0.25, 1.0):
        law = Law("", with_excess(bulk, excess))
        assert law.marginal.excess_kurtosis() == pytest.approx(excess, abs=0.02)  # tails end where the table does
        assert law.marginal.variance() == pytest.approx(1, abs=1e-3)


def test_laws_with_names_are_those_of_the_stimuli():
    by_name = {law.name: law for law in laws((), further=True)}
    for name, marginal in (("Kur(4.5)", Algebraic(4.5)), ("NLGP(3)", Erf(3.0)), ("uniform", Uniform())):
        assert by_name[name].statistics["kurtosis"] == pytest.approx(marginal.excess_kurtosis(), rel=0.02)
        assert by_name[name].statistics["geary"] == pytest.approx(marginal.standard_moment(1), rel=1e-4)
