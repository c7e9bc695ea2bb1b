"""Exact flows against Monte Carlo gradients, their own losses, scipy's integrator, enumeration, and training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.integrate import solve_ivp

import localax as lx
from helpers import SIGMAS, matrix
from localax.networks import Authors, GatedLinear, SingleReLU, SoftCommittee, TwoLayer, Xavier, seed_keys
from localax.stimuli import (
    NLGP,
    Copula,
    Elliptical,
    Gaussian,
    GaussianClone,
    Ising,
    Normal,
    RadialStudentT,
    Shell,
    SinglePulse,
    SquaredExponential,
    Surface,
)
from localax.theory import effective_flow, exact_flow
from localax.theory._checks import checked_units
from localax.theory._products import FourierProducts, MatrixProducts
from localax.theory._transfer import ising_gate, series_error, series_gate, terms_for
from localax.theory.flows import FLOWS
from localax.theory.flows._exact import _flow
from localax.theory.flows._gaussian_erf import bivariate_normal

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(0)
GAUSSIAN = lx.Task([Gaussian(40, 1), Gaussian(40, 3)], [0, 1])
ISING = lx.Task([Ising(40, 0.3), Ising(40, 0.7)], [0, 1])


def fields(*shape, scale=0.3):
    return scale * np.random.default_rng(1).normal(size=shape)


def three_classes(*stimuli):
    """Unequal proportions and labels of both signs, so that no factor 1/2 can hide."""
    return lx.Task(stimuli, [-0.5, 1.0, 2.0], [0.2, 0.3, 0.5])


SMALL = {
    "Gaussian": three_classes(Gaussian(8, 0.5), Gaussian(8, 1), Gaussian(8, 1.3)),
    "elliptical": three_classes(
        Elliptical(8, 0.5, Surface()), Elliptical(8, 1, Shell()), Elliptical(8, 1.3, RadialStudentT(9))
    ),
    "torus": three_classes(*(Gaussian((3, 4), x) for x in (0.3, 0.4, 0.5))),
}
CASES = {
    "Gaussian relu": (SMALL["Gaussian"], SoftCommittee(3)),
    "elliptical relu": (SMALL["elliptical"], SoftCommittee(3)),
    "torus relu": (SMALL["torus"], SoftCommittee(3)),
    "erf, biases trained": (SMALL["Gaussian"], SoftCommittee(3, "erf", True)),
    "erf, biases fixed": (SMALL["Gaussian"], SoftCommittee(3, "erf", offset=0.4)),
}

QUICK = ("Gaussian relu", "erf, biases trained")
"""Those that are sampled in every run; the others share their code."""


def state(task, network):
    trained = isinstance(network, SoftCommittee) and network.bias is True
    n = int(np.prod(task.shape))
    return fields(network.units, n), np.array([0.5, -1.0, 0.2])[: network.units] if trained else None


def compiled(task, network):
    """Velocity and measure of a flow, each one program: step by step every sum and product would be a program too."""
    flow = _flow(task, network, 1e-3)
    return eqx.filter_jit(flow.velocity), eqx.filter_jit(flow.measure)


# Velocities and losses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
def test_velocity_and_loss_are_those_of_a_million_samples(name):
    """Six standard errors, from 100 batches of 10^4 samples per class."""
    task, network = CASES[name]
    w, b = state(task, network)
    velocity, measure = compiled(task, network)
    speed, loss = velocity(w, b), measure(w, b)[0]

    def empirical(w, b, key):
        parameters = lx.networks.Parameters(w.reshape(-1, *task.shape), b)
        parts = [
            share * jnp.mean((network(parameters, s.draw(k, 10_000, jnp.float64)) - y) ** 2)
            for s, y, share, k in zip(
                task.stimuli, task.labels, task.proportions, jax.random.split(key, 3), strict=True
            )
        ]
        return sum(parts)

    one = jax.value_and_grad(empirical, argnums=(0,) if b is None else (0, 1))
    values, slopes = jax.jit(lambda keys: jax.lax.map(lambda key: one(w, b, key), keys))(
        jax.random.split(jax.random.key(3), 100)
    )
    assert_mean(values, loss)
    for slope, exact in zip(slopes, speed, strict=False):
        assert_mean(-slope, exact)


def assert_mean(draws, truth):
    draws = np.asarray(draws)
    error = draws.std(0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(0) - truth) < SIGMAS * error), np.max(np.abs(draws.mean(0) - truth) / error)


@pytest.mark.parametrize("name", CASES)
def test_velocity_is_the_descent_of_the_loss(name):
    """Two formulas derived apart: the arc-cosine kernel and Phi2 on one side, Stein's lemma on the other."""
    task, network = CASES[name]
    w, b = state(task, network)
    velocity, measure = compiled(task, network)
    arguments = (0,) if b is None else (0, 1)
    # Off the diagonal, where arcsin has no infinite slope: its derivative in the kernel cancels at g = 1 only by hand.
    step = 1e-6
    for i, speed in zip(arguments, velocity(w, b), strict=False):
        base = np.asarray((w, b)[i])
        for index in np.ndindex(base.shape):
            ends = []
            for sign in (1, -1):
                moved = base.copy()
                moved[index] += sign * step
                ends.append(measure(*((moved, b) if i == 0 else (w, moved)))[0])
            slope = float(ends[0] - ends[1]) / (2 * step)
            assert abs(slope + float(speed[index])) < 1e-8  # rounding 1e-16/1e-6 and curvature 1e-12


def test_bivariate_normal_is_scipys():
    normal = jax.jit(bivariate_normal)
    for h, k, r in [(0.3, -1.2, 0.5), (0.3, -1.2, -0.9), (-2.0, -2.1, 0.99), (0.0, 0.0, 0.7), (5.0, -0.3, 0.2)]:
        truth = stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([h, k])
        assert abs(float(normal(h, k, r)) - truth) < 1e-10
    quadrant = float(normal(0.0, 0.0, 0.7))
    assert abs(quadrant - (0.25 + np.arcsin(0.7) / (2 * np.pi))) < 1e-14


def test_radial_constants():
    """C = E|S|/sd(S): t(3) by its density, the others as printed to six digits by an independent calculation."""
    mean = 2 * integrate.quad(lambda x: x * stats.t(3).pdf(x), 0, np.inf)[0] / np.sqrt(3)
    assert abs(Elliptical(40, 1, RadialStudentT(3)).elliptical_constant() - mean) < 1e-10
    assert abs(mean - 2 / np.pi) < 1e-10
    assert abs(Elliptical(40, 1, Surface()).elliptical_constant() - 0.802886) < 1e-6
    assert abs(Elliptical(40, 1, Shell()).elliptical_constant() - 0.784601) < 1e-6
    assert Gaussian(40, 1).elliptical_constant() == np.sqrt(2 / np.pi)
    assert NLGP(40, 1, 3).elliptical_constant() is None


# Time ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_three_conventions_of_time_are_one():
    """exact_flow = effective_flow = scipy on f(w) - (S0+S1)w/2 at t = 1, 5, 20, to 1e-5."""
    w0, times = fields(40, scale=0.05), [1.0, 5.0, 20.0]
    s0, s1 = (matrix(s.covariance()) for s in GAUSSIAN.stimuli)

    def speed(_, w):
        return s1 @ w / np.sqrt(2 * np.pi * (w @ s1 @ w)) - (s0 + s1) @ w / 2

    truth = solve_ivp(speed, (0, 20), w0, t_eval=times, rtol=1e-10, atol=1e-12).y.T
    exact = exact_flow(GAUSSIAN, SingleReLU(), w0, times=times)
    effective = effective_flow(GAUSSIAN, w0, times=times)
    assert np.abs(exact.weights[0, :, 0] - truth).max() < 1e-5
    assert np.abs(effective.weights[0, :, 0] - truth).max() < 1e-5
    assert np.array_equal(exact.time, times)


@pytest.mark.parametrize("name", ["Gaussian relu", "erf, biases trained"])
@pytest.mark.slow
def test_euler_approaches_the_flow_at_first_order(name):
    """Halving Euler's step halves its distance to the flow."""
    task, network = CASES[name]
    w, b = state(task, network)
    (step, _), errors = compiled(task, network), []
    end = exact_flow(task, network, w[None], times=[2.0], b0=b, rtol=1e-9, atol=1e-11)
    for steps in (100, 200):
        x, y = w, b
        for _ in range(steps):
            dx, dy = step(x, y)
            x, y = np.asarray(x + 2.0 / steps * dx), y if y is None else y + 2.0 / steps * dy
        errors.append(np.linalg.norm(end.final[0] - x))
    assert abs(errors[0] / errors[1] - 2) < 0.1


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("Gaussian relu", "plain"),
        ("erf, biases trained", "orbit"),
        pytest.param("Gaussian relu", "orbit", marks=pytest.mark.slow),
        pytest.param("erf, biases trained", "plain", marks=pytest.mark.slow),
        pytest.param("elliptical relu", "plain", marks=pytest.mark.slow),
        pytest.param("elliptical relu", "orbit", marks=pytest.mark.slow),
        pytest.param("Ising", "plain", marks=pytest.mark.slow),
        ("Ising", "orbit"),
    ],
)
def test_training_follows_the_flow(name, estimator):
    """The mean of 24 runs on independent data, against Euler's method on the flow with the same rate: what is left is
    noise, and the average of a nonlinear flow over it, which is below a tenth of the spread here."""
    if name == "Ising":
        task, network = lx.Task([Ising(12, 0.3), Ising(12, 0.7)], [0, 1]), SingleReLU()
    else:
        task, network = CASES[name]
        task = lx.Task(task.stimuli[:2], [0.0, 1.0])
    runs, rate, steps = 24, 0.02, 100
    w, b = state(task, network)
    init = np.broadcast_to(np.asarray(w), (runs, *w.shape))
    made = lx.train(
        task, network, steps=steps, batch=400 if estimator == "plain" else 40, rate=rate, seeds=runs, init=init,
        estimator=estimator, stream="independent", progress=False, saveat=lx.SaveAt(record=()),
    )  # fmt: skip
    speed, _ = compiled(task, network)
    b = None if b is None else np.zeros_like(b)
    for _ in range(steps):
        dw, db = speed(w, b)
        w, b = w + rate * dw, b if b is None else b + rate * db
    error = made.final.std(0) / np.sqrt(runs)
    assert np.all(np.abs(made.final.mean(0) - w.reshape(made.final.shape[1:])) < SIGMAS * error + 1e-5)


# The Ising ring -----------------------------------------------------------------------------------------------------


def enumerated(coupling, w):
    """f(w) by all 2^N states."""
    n = len(w)
    x = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    p = np.exp(coupling * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    return 0.5 * (p / p.sum() * np.sign(x @ w)) @ x


def ring_fields(n):
    """A random field, a flat one with noise, a competition of two bumps, and the localized attractor."""
    rng = np.random.default_rng(n)
    s0, s1 = (matrix(Ising(n, j).covariance()) for j in (0.3, 0.7))
    local = np.linalg.solve(s0 + s1, s1[0])
    two = local + 0.8 * np.roll(local, n // 2) + 0.02 * rng.normal(size=n)
    return np.stack([rng.normal(size=n), 1 + 0.3 * rng.normal(size=n), two, local])


@pytest.mark.parametrize(("size", "coupling"), [(2, 0.7), (5, -0.4), (11, 0.7), (12, 0.3), (12, 1.5)])
def test_ising_input_of_few_spins_is_the_sum_over_all_states(size, coupling):
    gate = eqx.filter_jit(ising_gate(size, coupling, 1e-3))
    for w in [*np.random.default_rng(0).normal(size=(3, size)), np.eye(size)[1], np.eye(size)[0] + np.eye(size)[-1]]:
        assert np.abs(gate(jnp.asarray(w))[0] - enumerated(coupling, w)).max() < 1e-12


def chain(coupling, w):
    """Weight, sum, first and last spin of every state of a piece of the ring; bit j of a state is its j-th spin."""
    bonds, sums = np.zeros(2), np.array([w[0], -w[0]])
    for j, step in enumerate(w[1:]):
        last = np.repeat([1.0, -1.0], 2**j)
        bonds, sums = np.concatenate([bonds + last, bonds - last]), np.concatenate([sums + step, sums - step])
    half = len(sums) // 2
    return np.exp(coupling * bonds), sums, np.tile([1.0, -1.0], half), np.repeat([1.0, -1.0], half)


def by_halves(coupling, w):
    """f(w) by all states of a longer ring, in numpy: sort one half of the ring, look up the other."""
    halves, out = [chain(coupling, part) for part in np.split(w, [len(w) // 2])], []
    for (p, s, first, last), (q, u, near, far) in (halves, halves[::-1]):
        order, turn, balance, norm = np.argsort(u), np.argsort(-s), np.zeros(len(s)), 0.0
        found = np.zeros((2, len(s)), int)
        found[:, turn] = [np.searchsorted(u[order], -s[turn], side) for side in ("left", "right")]  # fast in order
        for a in (1, -1):
            for b in (1, -1):
                mine = (first == a) & (last == b)
                sums = np.concatenate([[0], np.cumsum((q * np.exp(coupling * (b * near + a * far)))[order])])
                balance[mine] = p[mine] * (sums[-1] - sums[found[:, mine]].sum(0))
                norm += p[mine].sum() * sums[-1]
        pairs = [balance.reshape(-1, 2, 2**j).sum((0, 2)) for j in range(len(s).bit_length() - 1)]
        out += [(up - down) / norm / 2 for up, down in pairs]
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.3, 0.7])
def test_ising_series_is_as_good_as_stated(coupling):
    """26 spins against all states. The statement is about the largest error of some dozens of fields, so a factor 2."""
    w = ring_fields(26)
    truth = np.stack([by_halves(coupling, one) for one in w])
    for terms in (48, 128, 400):
        value, estimate = jax.jit(jax.vmap(series_gate(np.tanh(coupling), terms)))(jnp.asarray(w))
        error = np.abs(value - truth).max(1)
        assert np.all(error < 2 * series_error(26, coupling, np.array([terms])))
        assert np.all(error < 20 * np.asarray(estimate) + 1e-6)
        assert error[-1] < 1e-6  # the localized field, where no state has S near 0
    assert series_error(26, coupling, np.array([terms_for(26, coupling, 2e-3)])) <= 2e-3


@pytest.mark.slow
def test_ising_series_at_40_spins():
    """Against all 2^40 states: the stated error, at random fields and on the way to a localized one."""
    w0 = np.asarray(Authors().weights(seed_keys([0]), 1, (40,), np.float64))
    path = exact_flow(ISING, SingleReLU(), w0, times=[2.0, 5.0, 10.0])
    gates = {terms: eqx.filter_jit(series_gate(np.tanh(0.7), terms)) for terms in (32, 64, 128)}
    for w in [*ring_fields(40), *path.weights[:, :, 0].reshape(-1, 40)]:
        truth = by_halves(0.7, w)
        for terms in gates:
            value, _ = gates[terms](jnp.asarray(w))
            assert np.abs(value - truth).max() < 2 * series_error(40, 0.7, np.array([terms]))[0]


@pytest.mark.slow
def test_ising_flow_of_few_spins_is_scipys():
    """N = 8, f by enumeration in the test, to 1e-6 at t = 1 and 3."""
    task = lx.Task([Ising(8, 0.2), Ising(8, 0.5)], [0, 1])
    s0, s1 = (matrix(s.covariance()) for s in task.stimuli)
    w0, times = fields(2, 8, scale=0.1), [1.0, 3.0]

    def speed(_, w):
        return enumerated(0.5, w) - (s0 + s1) @ w / 2

    truth = solve_ivp(speed, (0, 3), w0[0], t_eval=times, rtol=1e-9, atol=1e-11, max_step=0.05).y.T
    got = exact_flow(task, SingleReLU(), w0, times=times, rtol=1e-9, atol=1e-11)
    assert np.abs(got.weights[0, :, 0] - truth).max() < 1e-6


@pytest.mark.slow
def test_a_flow_that_gives_up_its_tolerance_says_so():
    """Where a gate of few spins jumps, no step is short enough for 1e-13; a smooth flow has no such place."""
    w0, times = fields(2, 8), [1.0, 5.0]  # as many as above: one program
    spins, smooth = lx.Task([Ising(8, 0.2), Ising(8, 0.5)], [0, 1]), lx.Task([Gaussian(8, 0.5), Gaussian(8, 1)], [0, 1])
    tight, loose = {"rtol": 1e-13, "atol": 1e-15}, {"rtol": 1e-3, "atol": 1e-5}
    assert set(exact_flow(spins, SingleReLU(), w0, times=times, **tight).status) == {"done beyond tolerance"}
    assert set(exact_flow(spins, SingleReLU(), w0, times=times, **loose).status) == {"done"}
    assert set(exact_flow(smooth, SingleReLU(), w0, times=times, rtol=1e-9).status) == {"done"}


@pytest.mark.parametrize("size", [12, pytest.param(26, marks=pytest.mark.slow)])
def test_ising_flow_ends_at_the_localized_attractor(size):
    """w* = (S0+S1)^-1 S1 e_i at some pixel, with the loss that goes with it."""
    task = lx.Task([Ising(size, 0.3), Ising(size, 0.7)], [0, 1])
    w0 = np.asarray(Xavier().weights(seed_keys([0, 1]), 1, (size,), np.float64))
    end = exact_flow(task, SingleReLU(), w0, times=[0.0, 60.0])
    s0, s1 = (matrix(s.covariance()) for s in task.stimuli)
    star = np.linalg.solve(s0 + s1, s1[0])
    loss = 0.5 - 0.25 * (s1 @ np.linalg.solve(s0 + s1, s1))[0, 0]
    for w in end.final[:, 0]:
        peak = np.argmax(np.abs(w))
        assert np.abs(w * np.sign(w[peak]) - np.roll(star, peak)).max() < 1e-5
    assert np.abs(end.loss[:, -1] - loss).max() < 1e-6
    assert np.all(end.records["velocity_error"] < 1e-2)


@pytest.mark.slow
def test_28_ising_flows_pick_the_pixels_of_a_tight_solve():
    """The distance to w* alone would not see a wrong pixel, so peaks are compared with a 1e-8 solve on finer terms."""
    w0 = np.asarray(Authors().weights(seed_keys(range(28)), 1, (40,), np.float64))
    quick = exact_flow(ISING, SingleReLU(), w0, times=[100.0]).final[:, 0]
    tight = exact_flow(ISING, SingleReLU(), w0, times=[20.0], rtol=1e-8, atol=1e-10, tolerance=2e-4).final[:, 0]
    peaks = np.argmax(np.abs(quick), axis=1)
    assert np.array_equal(peaks, np.argmax(np.abs(tight), axis=1))
    s0, s1 = (matrix(s.covariance()) for s in ISING.stimuli)
    star = np.linalg.solve(s0 + s1, s1[0])
    for w, peak in zip(quick, peaks, strict=True):
        assert np.abs(w * np.sign(w[peak]) - np.roll(star, peak)).max() < 1e-3


# What counts as what, shapes, refusals -------------------------------------------------------------------------------


@pytest.mark.slow
def test_gaussians_by_other_names_give_the_same_flow():
    w0, times = fields(2, 12), [2.0]
    plain = exact_flow(lx.Task([Gaussian(12, 1), Gaussian(12, 1.5)], [0, 1]), SingleReLU(), w0, times=times)
    copula = [Copula(12, SquaredExponential(x), Normal()) for x in (1, 1.5)]
    clone = [GaussianClone(Gaussian(12, x)) for x in (1, 1.5)]
    for stimuli in (copula, clone):
        assert np.allclose(exact_flow(lx.Task(stimuli, [0, 1]), SingleReLU(), w0, times=times).final, plain.final)


@pytest.mark.slow
def test_single_unit_is_a_committee_of_one_and_ising_may_stand_beside_gaussians():
    w0, times = fields(2, 12), [2.0]
    task = lx.Task([Gaussian(12, 1), Gaussian(12, 1.5)], [0, 1])
    one, other = (exact_flow(task, network, w0, times=times) for network in (SingleReLU(), SoftCommittee(1)))
    assert np.array_equal(one.final, other.final)
    ising = lx.Task([Ising(12, 0.3), Ising(12, 0.7)], [0, 1])
    mixed = lx.Task([GaussianClone(Ising(12, 0.3)), Ising(12, 0.7)], [0, 1])
    pair = [exact_flow(task, SingleReLU(), w0, times=[0.0, *times]).final for task in (ising, mixed)]
    assert np.allclose(*pair)  # of a class with label 0 only the covariance counts


def test_fourier_and_matrix_products_agree():
    shape = (5, 6)
    rows = [Gaussian(shape, x).covariance() for x in (0.5, 0.8)]
    fourier = FourierProducts(jnp.stack([jnp.fft.rfftn(r).real for r in rows]), shape)
    dense = MatrixProducts(jnp.stack([matrix(r) for r in rows]))
    w = jnp.asarray(fields(3, 30))
    assert np.abs(fourier(w) - dense(w)).max() < 1e-13
    big = lx.Task([Gaussian((17, 16), 1), Gaussian((17, 16), 2)], [0, 1])
    assert isinstance(_flow(big, SingleReLU(), 1.0).products, FourierProducts)


@pytest.mark.slow
def test_shapes_of_the_start():
    for shape, units, expected in [
        ((8,), 1, (1, 1, 8)),
        ((5, 8), 1, (5, 1, 8)),
        ((5, 1, 8), 1, (5, 1, 8)),
        ((3, 8), 3, (1, 3, 8)),
        ((5, 3, 8), 3, (5, 3, 8)),
    ]:
        assert checked_units("test", fields(*shape), (8,), units).shape == expected
    assert checked_units("test", fields(4, 2, 3), (2, 3), 1).shape == (4, 1, 2, 3)
    w0, network = fields(1, 3, 8), SoftCommittee(3, "erf", True)
    got = exact_flow(SMALL["Gaussian"], network, w0, times=[0.0, 0.5], b0=[0.1, 0.2, 0.3])
    assert np.array_equal(got.weights[:, 0], w0)
    assert np.allclose(got.biases[:, 0], [0.1, 0.2, 0.3])
    assert got.weights.shape == (1, 2, 3, 8)
    assert got.loss.shape == (1, 2)
    assert got.settings["kind"] == "GaussianErf"


BAD = {
    "zeros": ({"w0": np.zeros(8)}, "w0 must be not zero everywhere"),
    "shape": ({"w0": np.ones(7)}, "w0 must be finite numbers of shape"),
    "nan": ({"w0": np.full(8, np.nan)}, "w0 must be finite numbers"),
    "order": ({"times": [0, 2, 1]}, "times must be finite numbers >= 0 that increase"),
    "before": ({"times": [-1, 1]}, "times must be"),
    "b0": ({"b0": [0.0]}, "b0 must be left out"),
    "rtol": ({"rtol": 0.0}, "rtol must be a finite number > 0"),
    "network": ({"network": TwoLayer(3)}, "no exact flow for TwoLayer on Gaussian; there is one for: SingleReLU"),
    "gated": ({"network": GatedLinear(np.eye(8))}, "no exact flow for GatedLinear"),
    "stimulus": ({"task": lx.Task([NLGP(8, 1, 3)] * 2, [0, 1])}, "no exact flow for SingleReLU on NLGP"),
    "bias": ({"network": SoftCommittee(1, "relu", True)}, "no exact flow for SoftCommittee"),
    "mean": ({"task": lx.Task([GaussianClone(SinglePulse(8, 2, 3, (0, 1)))] * 2, [0, 1])}, "no exact flow for"),
    "regression": ({"task": lx.Task([Gaussian(8, 1)], lambda x: x[:, 0])}, "one label per class"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_one_line(name):
    options, message = BAD[name]
    call = {"task": SMALL["Gaussian"], "network": SingleReLU(), "w0": fields(8), "times": [1.0]} | options
    with pytest.raises(ValueError, match=r"^exact_flow: ") as caught:
        exact_flow(call.pop("task"), call.pop("network"), call.pop("w0"), **call)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_flow_says_what_it_is_for():
    assert all(kind.summary and "\n" not in kind.summary for kind in FLOWS)
