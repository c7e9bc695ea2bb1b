"""Sigmoid units: bias flow by quadrature, the sign the start foretells, the reduced model, starting losses."""

import jax
import numpy as np
import pytest
from scipy import integrate, special, stats

import localax as lx
from helpers import SIGMAS, matrix
from localax.networks import SoftCommittee, Xavier, seed_keys
from localax.stimuli import NLGP, Elliptical, Gaussian, Ising, Shell, SinglePulse
from localax.theory import exact_flow
from localax.theory.sigmoid import (
    Population,
    bias_flow,
    bias_response,
    convolutional_output,
    frequency_specialisation,
    initial_push,
    population_output,
    starting_loss,
)

pytestmark = pytest.mark.usefixtures("x64")
N = 10
TASK = lx.Task([Gaussian(N, 0.8), Gaussian(N, 1.4)], [-1, 1])
W = 0.4 * np.random.default_rng(0).normal(size=(3, N))
B = np.array([0.5, -1.0, 0.2])


def sigma(h):
    return special.erf(h / np.sqrt(2))


def slope(h):
    return np.sqrt(2 / np.pi) * np.exp(-(h**2) / 2)


def pair_mean(function, covariance, means):
    """E function(h1, h2) for two normals, by a product of Gauss-Hermite rules."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    root = np.linalg.cholesky(covariance + 1e-300 * np.eye(2))
    h1 = means[0] + root[0, 0] * x[:, None] + 0 * x
    h2 = means[1] + root[1, 0] * x[:, None] + root[1, 1] * x
    return np.sum(np.outer(w, w) * function(h1, h2)) / (2 * np.pi)


@pytest.mark.slow
def test_bias_flow_of_many_units_by_quadrature():
    """db_j/dt = (2/K) sum_c p_c E[(y_c - yhat) s'(h_j)], pair by pair, to 1e-9."""
    expected = np.zeros(3)
    for label, stimulus in zip((-1.0, 1.0), TASK.stimuli, strict=True):
        q = W @ matrix(stimulus.covariance()) @ W.T
        for j in range(3):
            own = integrate.quad(lambda h, j=j, q=q: slope(h) * stats.norm.pdf(h, B[j], np.sqrt(q[j, j])), -20, 20)[0]
            others = 0.0
            for k in range(3):
                if k == j:

                    def both(h, j=j, q=q):
                        return sigma(h) * slope(h) * stats.norm.pdf(h, B[j], np.sqrt(q[j, j]))

                    others += integrate.quad(both, -20, 20, epsabs=1e-13)[0]
                else:
                    others += pair_mean(lambda a, b: sigma(b) * slope(a), q[np.ix_([j, k], [j, k])], B[[j, k]])
            expected[j] += 0.5 * 2 / 3 * (label * own - others / 3)
    assert np.abs(bias_flow(TASK, W, B) - expected).max() < 1e-9


@pytest.mark.slow
def test_bias_flow_of_one_unit():
    """Eqs. 37 to 43 of the network notes for erf(h/sqrt 2): a single unit, labels 0 and 1."""
    task, b = lx.Task(TASK.stimuli, [0, 1]), 0.7

    def m(s):
        return np.sqrt(2 / np.pi / (1 + s)) * np.exp(-(b**2) / (2 * (1 + s)))

    s0, s1 = (W[0] @ matrix(s.covariance()) @ W[0] for s in task.stimuli)
    seen = sum(m(s) * special.erf(b / np.sqrt(2 * (1 + s) * (1 + 2 * s))) for s in (s0, s1))
    assert abs(bias_flow(task, W[0], [b])[0] - (m(s1) - seen)) < 1e-14  # twice 1/2 [...], as the loss has no 1/2


@pytest.mark.slow
def test_initial_push_and_response():
    assert np.allclose(initial_push(TASK, W), bias_flow(TASK, W, np.zeros(3)), atol=1e-15)
    push, response = bias_response(TASK, W)
    assert np.allclose(push, initial_push(TASK, W))
    step = 1e-5
    for k in range(3):
        moved = [bias_flow(TASK, W, sign * step * np.eye(3)[k]) for sign in (1, -1)]
        assert np.abs((moved[0] - moved[1]) / (2 * step) - response[:, k]).max() < 1e-9
    assert np.all(np.diag(response) < 0)  # each bias is pulled back


@pytest.mark.slow
def test_long_lengthscale_pushes_the_bias_down():
    flat, wavy = np.ones(N), np.cos(np.pi * np.arange(N))
    push = initial_push(TASK, np.stack([flat, wavy]))
    assert push[0] < 0 < push[1]
    w = np.random.default_rng(1).normal(size=(50, N))
    s0, s1 = (matrix(s.covariance()) for s in TASK.stimuli)
    drive = np.einsum("ui,ij,uj->u", w, s1 - s0, w)
    assert np.array_equal(np.sign(initial_push(TASK, w)), -np.sign(drive))


@pytest.mark.slow
def test_no_bias_no_progress():
    """At b = 0 the teacher does not move the weights: they only shrink, and the loss stays above 1."""
    got = exact_flow(TASK, SoftCommittee(3, "erf"), W[None], times=[0.0, 50.0])
    assert got.loss[0, 1] > 1
    assert np.linalg.norm(got.final) < np.linalg.norm(W)


@pytest.mark.slow
def test_two_populations():
    """Half of the units go each way, low frequencies down and high ones up, mostly as the start foretold."""
    task = lx.Task([Gaussian(20, 0.7), Gaussian(20, 2)], [-1, 1])
    w0 = np.asarray(Xavier(0.1).weights(seed_keys([0]), 24, (20,), np.float64))
    run = exact_flow(task, SoftCommittee(24, "erf", True), w0, times=[0.0, 4000.0], rtol=1e-4, atol=1e-6)
    found = frequency_specialisation(task, run)
    assert found.negative + found.positive == 24
    assert min(found.negative, found.positive) >= 6
    assert found.negative_frequency < 3 < found.positive_frequency
    assert found.foretold > 0.7
    assert run.loss[0, -1] < 0.9


# The reduced model ----------------------------------------------------------------------------------------------------


def samples(n=200):
    return np.asarray(Gaussian(N, 1.4).sample(jax.random.key(0), n), float)


def test_tiled_populations_are_the_convolution():
    """Eq. 3 with every shift and both signs of a field is Eq. 4."""
    x, field, wave = samples(), np.exp(-(np.arange(N) ** 2) / 2.0), np.cos(np.pi * np.arange(N)) / 2

    def tile(w):
        return np.stack([s * np.roll(w, i) for i in range(N) for s in (1, -1)])

    wide = population_output(x, (tile(field), -2.0), (tile(wave), 1.5))
    got = convolutional_output(x, [Population(field, -2.0), Population(wave, 1.5)])
    assert np.abs(wide - got).max() < 1e-12


def test_folding_keeps_the_saturated_term():
    """Where |c| and |b| are large the short form is exact; s(|c| + b), as in the printed Eq. 5, is not."""
    x, field = samples(), 3 * np.exp(-(np.arange(N) ** 2) / 2.0)
    for bias in (-4.0, 4.0):
        full, short = (convolutional_output(x, [Population(field, bias)], folded=f) for f in (False, True))
        assert np.abs(full - short).max() < 0.02
        response = np.fft.irfft(np.fft.rfft(x) * np.conj(np.fft.rfft(field)), N)
        assert np.abs(sigma(np.abs(response) + bias).mean(1) - full).mean() > 0.1
    c, b = 2.0, -1.6
    assert abs((sigma(c + b) + sigma(-c + b)) / 4 - (sigma(c + b) - 1) / 4) < 1e-3


# Starting losses ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("kind", ["Gaussian", "Ising", "NLGP", "elliptical"])
def test_starting_loss_against_samples(kind, activation):
    make = {
        "Gaussian": lambda x: Gaussian(N, x),
        "Ising": lambda x: Ising(N, x / 3),
        "NLGP": lambda x: NLGP(N, x, 3),
        "elliptical": lambda x: Elliptical(N, x, Shell()),
    }[kind]
    labels = (0.0, 1.0) if activation == "relu" else (-1.0, 1.0)
    task = lx.Task([make(0.8), make(1.4)], labels)
    got = starting_loss(task, W[0], activation=activation)
    function = (lambda s: np.maximum(s, 0)) if activation == "relu" else sigma
    terms = []
    for c, (stimulus, label) in enumerate(zip(task.stimuli, labels, strict=True)):
        x = np.asarray(stimulus.sample(jax.random.key(10 + c), 200_000), float)
        terms.append((function(x @ W[0]) - label) ** 2)
    error = np.hypot(np.sqrt(sum(t.var() / 4 / len(t) for t in terms)), float(got.standard_error))
    assert abs(float(got.value) - np.mean([t.mean() for t in terms])) < SIGMAS * error
    closed = kind == "Gaussian" or (activation == "relu" and kind != "NLGP")
    assert (float(got.standard_error) == 0) == closed


@pytest.mark.slow
def test_starting_losses_as_the_gain_grows():
    """Mean over 20 starts of the same variance: ReLU falls by about 1%, the sigmoid rises by less."""
    fields = np.asarray(Xavier(1.0).weights(seed_keys(range(20)), 1, (40,), np.float64))[:, 0]
    losses = {}
    for gain in (0.01, 100.0):
        for activation, low in (("relu", 0), ("erf", -1)):
            task = lx.Task([NLGP(40, 1, gain), NLGP(40, 2, gain)], [low, 1])
            each = [float(starting_loss(task, w, activation=activation, samples=20_000).value) for w in fields]
            losses[activation, gain] = np.mean(each)
    assert -0.03 < losses["relu", 100.0] / losses["relu", 0.01] - 1 < 0.01
    assert abs(losses["erf", 100.0] / losses["erf", 0.01] - 1) < 0.02


def test_bad_input():
    for call, message in [
        (lambda: bias_flow(lx.Task([Ising(N, 0.3)] * 2, [0, 1]), W, B), "Gaussian classes"),
        (lambda: bias_flow(TASK, W, [0.0]), "one number for each of 3 units"),
        (lambda: bias_flow(TASK, np.ones((2, 7)), [0.0, 0.0]), "w0 must be"),
        (lambda: starting_loss(TASK, np.ones(3)), "shape"),
        (lambda: starting_loss(TASK, W[0], activation="tanh"), "relu or erf"),
        (lambda: starting_loss(lx.Task([SinglePulse(N, 2, 3, (0, 1))] * 2, [0, 1]), W[0]), "sign-symmetric"),
        (lambda: frequency_specialisation(TASK, lx.Trajectory(np.zeros(1), W[None, None])), "trained biases"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
