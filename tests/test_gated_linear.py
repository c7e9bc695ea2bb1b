"""Gated linear networks: moments against samples and sums over states, paths against scipy and training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import solve_ivp

import localax as lx
from helpers import SIGMAS, assert_within, matrix
from localax.networks import GatedLinear
from localax.stimuli import NLGP, Elliptical, Gaussian, Ising, Kur, RadialStudentT, SinglePulse
from localax.theory import mean_gated_input
from localax.theory.gates import (
    gate_families,
    gated_linear_flow,
    gated_moments,
    halfspace_pair,
    input_output_covariance,
    race,
    redundant_path,
)

pytestmark = pytest.mark.usefixtures("x64")
N, K = 6, 3
GATES = np.random.default_rng(0).normal(size=(K, N))
TASK = lx.Task([Gaussian(N, 0.6), Gaussian(N, 1.0)], [-0.5, 1.0], [0.4, 0.6])
SPINS = lx.Task([Ising(N, 0.3), Ising(N, 0.8)], [0, 1])


def spins(coupling):
    x = 1.0 - 2.0 * ((np.arange(2**N)[:, None] >> np.arange(N)) & 1)
    p = np.exp(coupling * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    return x, p / p.sum()


# Moments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stimulus", [Gaussian(N, 1.0), Elliptical(N, 1.0, RadialStudentT(9))])
@pytest.mark.slow
def test_pair_of_halfspaces_against_a_million_samples(stimulus):
    """Per batch of 10^4, so that heavy tails still give a normal mean."""
    u, v = GATES[:2]
    pair = halfspace_pair(matrix(stimulus.covariance()), u, v)

    def batch(key):
        x = stimulus.draw(key, 10_000, jnp.float64)
        is_open = (x @ u > 0) & (x @ v > 0)
        return (x * is_open[:, None]).T @ x / len(x)

    means = jax.jit(lambda keys: jax.lax.map(batch, keys))(jax.random.split(jax.random.key(1), 100))
    assert_within(np.asarray(means), pair)


def test_equal_and_opposite_halfspaces():
    s = matrix(Gaussian(N, 1.0).covariance())
    assert np.allclose(halfspace_pair(s, GATES[0], 2 * GATES[0]), s / 2)
    assert np.allclose(halfspace_pair(s, GATES[0], -GATES[0]), 0)
    near = halfspace_pair(s, GATES[0], GATES[0] + 1e-6 * GATES[1])
    assert np.allclose(near, s / 2, atol=1e-5)


@pytest.mark.parametrize("rule", ["halfspace", "winner"])
def test_moments_of_spins_are_sums_over_states(rule):
    network = GatedLinear(GATES, rule)
    found = gated_moments(SPINS, network, method="exact")
    a, b = np.zeros((K * N, K * N)), np.zeros(K * N)
    for coupling, label in ((0.3, 0.0), (0.8, 1.0)):
        for x, p in zip(*spins(coupling), strict=True):
            response = network.gates.astype(float) @ x
            gate = response > 0 if rule == "halfspace" else response >= response.max()
            wide = np.kron(gate, x)
            a, b = a + 0.5 * p * np.outer(wide, wide), b + 0.5 * p * label * wide
    assert np.allclose(found.a, a, atol=1e-14)
    assert np.allclose(found.b, b, atol=1e-14)
    assert not found.sampled


@pytest.mark.slow
def test_exact_and_sampled_moments_agree():
    """Entries of A and b are means of products of unit-variance variables: spread at most about 2 each."""
    exact, drawn = (gated_moments(TASK, GatedLinear(GATES), method=m, samples=200_000) for m in ("exact", "sampled"))
    bound = SIGMAS * 2 / np.sqrt(200_000)
    assert np.abs(exact.a - drawn.a).max() < bound
    assert np.abs(exact.b - drawn.b).max() < bound
    assert drawn.sampled
    assert not exact.sampled


def test_single_gates_are_ties():
    """A = (S0 + S1)/4 whatever the gate, b = f(v)/2, limiting loss 1/2 - f'(S0+S1)^-1 f."""
    s0, s1 = (matrix(s.covariance()) for s in SPINS.stimuli)
    for gate in GATES:
        found = gated_moments(SPINS, GatedLinear(gate[None]))
        f = mean_gated_input(SPINS.stimuli[1], gate.astype(np.float32)).value
        assert np.allclose(found.a, (s0 + s1) / 4, atol=1e-14)
        assert np.allclose(found.b, f / 2, atol=1e-14)
        assert abs(found.limiting_loss() - (0.5 - f @ np.linalg.solve(s0 + s1, f))) < 1e-12
        assert np.allclose(found.limit(), 2 * np.linalg.solve(s0 + s1, f))


def test_limiting_loss_is_that_of_least_squares():
    """Eq. 60 of the network notes evaluated state by state, for three gates."""
    network = GatedLinear(GATES)
    found = gated_moments(SPINS, network)
    rows, targets, weights = [], [], []
    for coupling, label in ((0.3, 0.0), (0.8, 1.0)):
        for x, p in zip(*spins(coupling), strict=True):
            rows.append(np.kron(network.gates.astype(float) @ x > 0, x) / K)
            targets.append(label)
            weights.append(p / 2)
    rows, targets, root = np.array(rows), np.array(targets), np.sqrt(weights)
    fit = np.linalg.lstsq(rows * root[:, None], targets * root, rcond=1e-12)[0]
    loss = np.sum(weights * (rows @ fit - targets) ** 2)
    assert abs(found.limiting_loss() - loss) < 1e-10
    assert abs(found.loss(found.limit()) - loss) < 1e-10
    w = np.random.default_rng(3).normal(size=K * N)
    assert abs(found.loss(w) - np.sum(weights * (rows @ w - targets) ** 2)) < 1e-10


# Paths ----------------------------------------------------------------------------------------------------------------


def test_path_is_scipys():
    """dw/dt = (2/K)(b - A w/K) from a random start, to 1e-8."""
    found = gated_moments(TASK, GatedLinear(GATES))
    w0, times = np.random.default_rng(1).normal(size=(2, K, N)), [0.0, 1.0, 7.0, 400.0]
    got = gated_linear_flow(TASK, GatedLinear(GATES), w0, times=times)
    for seed, start in enumerate(w0):

        def speed(_, w):
            return 2 / K * (found.b - found.a @ w / K)

        truth = solve_ivp(speed, (0, 400), start.ravel(), t_eval=times, rtol=1e-11, atol=1e-12, method="LSODA").y.T
        assert np.abs(got.weights[seed].reshape(4, -1) - truth).max() < 1e-8
        assert abs(got.loss[seed, 1] - found.loss(truth[1])) < 1e-8
    assert np.all(np.diff(got.loss, axis=1) < 0)


def test_directions_that_no_gate_opens_stay():
    """One gate twice: A is singular."""
    gates = np.concatenate([GATES, GATES[:1]])
    network, w0 = GatedLinear(gates), np.random.default_rng(1).normal(size=(4, N))
    found = gated_moments(TASK, network)
    assert np.sum(found.rates() == 0) == N
    end = gated_linear_flow(TASK, network, w0, times=[0.0, 1e5]).final[0]
    assert np.allclose(end[0] - end[3], w0[0] - w0[3])
    assert abs(found.loss(end) - found.limiting_loss()) < 1e-9
    assert abs(found.limiting_loss() - gated_moments(TASK, GatedLinear(GATES)).limiting_loss()) < 1e-9


def test_a_gate_of_zeros_is_a_linear_unit():
    """Open for every x, as <0, x> >= 0: its blocks are S and S/2, on Gaussian classes and, state by state, on spins."""
    network = GatedLinear(np.stack([np.zeros(N), GATES[0]]))
    found = gated_moments(lx.Task([Gaussian(N, 0.6)], [1.0]), network, method="exact")
    s = matrix(Gaussian(N, 0.6).covariance())
    np.testing.assert_allclose(found.a, np.block([[s, s / 2], [s / 2, s / 2]]), atol=1e-12)
    np.testing.assert_allclose(found.b[:N], 0)
    x, p = spins(0.8)
    is_open = np.stack([np.ones(len(x)), x @ GATES[0] >= 0], axis=1)
    gated = (is_open[:, :, None] * x[:, None]).reshape(len(x), -1)
    found = gated_moments(lx.Task([Ising(N, 0.8)], [1.0]), network, method="exact")
    np.testing.assert_allclose(found.a, (gated * p[:, None]).T @ gated, atol=1e-7)  # gates are kept in float32


def test_redundant_gates():
    """Eqs. 112 and 113 of the older notes, corrected, against the general path."""
    network = GatedLinear(np.stack([GATES[0], GATES[0]]))
    alone = gated_moments(TASK, GatedLinear(GATES[:1]))
    w0, times = np.random.default_rng(2).normal(size=(2, N)), [0.0, 0.5, 3.0, 50.0]
    path = gated_linear_flow(TASK, network, w0, times=times).weights[0]
    first, second = redundant_path(alone.a, alone.b, w0[0], w0[1], times=times)
    assert np.abs(path[:, 0] - first).max() < 1e-11
    assert np.abs(path[:, 1] - second).max() < 1e-11


@pytest.mark.parametrize("units", [2, 5])
def test_redundant_gates_integrated(units):
    """B-16 with the 1/K of B-14: dw/dt = (2/K)(b - A(w_1 + w_2)/K) for both, solved by scipy, in a network of K units
    of which no other is open with these two. In the notes' time, of half the loss, m decays as exp(-2 t A/K^2)."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(N, N))
    a, b, w0, times = (
        root @ root.T / N + 0.2 * np.eye(N),
        rng.normal(size=N),
        rng.normal(size=(2, N)),
        [0.0, 0.7, 2.0, 9.0],
    )

    def speed(_, w):
        step = 2 / units * (b - a @ (w[:N] + w[N:]) / units)
        return np.concatenate([step, step])

    truth = solve_ivp(speed, (0, 9), w0.ravel(), t_eval=times, rtol=1e-11, atol=1e-12, method="LSODA").y.T
    got = np.concatenate(redundant_path(a, b, *w0, times=times, units=units), axis=1)
    assert np.abs(got - truth).max() < 1e-8
    values, vectors = np.linalg.eigh(a)
    end = units / 2 * np.linalg.solve(a, b)
    for t, w in zip(times, truth, strict=True):
        decay = (vectors * np.exp(-2 * (2 * t) * values / units**2)) @ vectors.T  # 2t: the notes' time
        mean = end + decay @ (w0.mean(0) - end)
        assert np.abs(mean - (w[:N] + w[N:]) / 2).max() < 1e-8


def test_exclusive_gates_learn_alone():
    """Opposite gates: A is block diagonal, and each unit converges to least squares on its own half (Eq. 58)."""
    network = GatedLinear(np.stack([GATES[0], -GATES[0]]))
    found = gated_moments(TASK, network)
    assert np.abs(found.a[:N, N:]).max() < 1e-12
    one = gated_moments(TASK, GatedLinear(GATES[:1]))
    assert np.allclose(found.limit()[:N], 2 * one.limit())  # K = 2 halves what each unit adds to the output


@pytest.mark.slow
def test_training_follows_the_path():
    """Mean of 16 runs on independent data against Euler's method with the same rate; the flow is linear, so the mean
    over noise is exact."""
    network, runs, rate, steps = GatedLinear(GATES), 16, 0.05, 100
    found = gated_moments(TASK, network)
    w0 = np.random.default_rng(4).normal(size=(K, N))
    run = lx.train(
        TASK, network, steps=steps, batch=200, rate=rate, seeds=runs, init=np.broadcast_to(w0, (runs, K, N)),
        stream="independent", saveat=lx.SaveAt(record=()), progress=False,
    )  # fmt: skip
    w = w0.ravel()
    for _ in range(steps):
        w = w + rate * 2 / K * (found.b - found.a @ w / K)
    assert_within(run.final.reshape(runs, -1), w, rounding=1e-5)
    end = gated_linear_flow(TASK, network, w0, times=[steps * rate]).final.ravel()
    assert np.abs(end - w).max() < 0.02  # Euler's own error at this rate


# The localized gate, and the race -------------------------------------------------------------------------------------


def test_input_output_covariance_of_the_localized_gate():
    """Eqs. 66 to 74 of the network notes with 1/pi for 2/sqrt(pi): by quadrature, and its peak .240 at g = 3."""
    g, n = 3.0, 20
    task = lx.Task([NLGP(n, 1, g), NLGP(n, 2, g)], [0, 1])
    got = input_output_covariance(task, 7)
    norm = np.sqrt(2 / np.pi * np.arcsin(2 * g**2 / (1 + 2 * g**2)))
    from scipy.special import erf

    for d in (1, 2, 4):
        r = np.exp(-(d**2) / 4)
        slope = g * r / np.sqrt(1 + 2 * g**2 * (1 - r**2))
        value = integrate.quad(lambda z, a=slope: erf(a * z) * np.exp(-z * z / 2), 0, np.inf, epsabs=1e-12)[0]
        assert abs(got[7 + d] - value / np.sqrt(2 * np.pi) / norm / 2) < 1e-8
    assert abs(got[7] - 0.2394) < 1e-4
    other = lx.Task([Kur(n, 1, 5), Kur(n, 2, 5)], [0, 1])
    field = np.eye(n)[7]
    assert np.allclose(input_output_covariance(other, 7), mean_gated_input(other.stimuli[1], field).value / 2)


def test_race_of_single_gates_on_spins():
    """Rates are ties; the loss puts a localized gate first, whose limit is the ReLU attractor."""
    task = lx.Task([Ising(13, 0.3), Ising(13, 0.7)], [0, 1])
    rows = {row.name: row for row in race(task)}
    assert next(iter(rows)) in ("localized", "ReLU")
    assert list(rows)[-1] == "zero"
    assert rows["zero"].limiting_loss == 0.5
    assert rows["zero"].unlearned == 0
    assert abs(rows["zero"].fastest - 2 * rows["localized"].fastest) < 1e-9  # A is S, not S/2
    rates = {
        (round(r.slowest, 12), round(r.median, 12), round(r.fastest, 12)) for r in rows.values() if r.name != "zero"
    }
    assert len(rates) == 1
    s0, s1 = (matrix(s.covariance()) for s in task.stimuli)
    star = np.linalg.solve(s0 + s1, s1[0])
    assert np.allclose(gate_families(task)["ReLU"][0], star)
    assert abs(rows["localized"].limiting_loss - rows["ReLU"].limiting_loss) < 1e-12  # the same gate, the same function
    assert abs(rows["localized"].limiting_loss - (0.5 - 0.25 * (s1 @ star)[0])) < 1e-12


def test_race_of_single_gates_on_gaussians():
    """Flat or cosine before localized, as for a ReLU neuron on Gaussian data."""
    task = lx.Task([Gaussian(20, 1), Gaussian(20, 2)], [0, 1])
    order = [row.name for row in race(task)]
    assert order.index("flat") < order.index("localized")
    assert order.index("cosine") < order.index("localized")
    given = gate_families(task, units=2, relu=np.ones((2, 20)))
    assert given["ReLU"].shape == (2, 20)


def test_bad_input():
    for call, message in [
        (
            lambda: gated_moments(lx.Task([NLGP(N, 1, 3)] * 2, [0, 1]), GatedLinear(GATES), method="exact"),
            "no exact moments",
        ),
        (lambda: gated_moments(TASK, GatedLinear(GATES), method="guess"), "one of auto, exact, sampled"),
        (lambda: gated_moments(TASK, GatedLinear(np.ones((2, 5)))), "gates of shape"),
        (lambda: gated_linear_flow(TASK, GatedLinear(GATES), np.ones(N + 1), times=[1.0]), "w0 must be"),
        (lambda: gated_linear_flow(TASK, GatedLinear(GATES), np.ones((K, N)), times=[1.0, 1.0]), "times must be"),
        (lambda: race(TASK, {}), "at least one family"),
        (lambda: gate_families(TASK, relu=np.ones(3)), "weights of 1 units"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_laws_without_sign_symmetry_are_summed():
    task = lx.Task([SinglePulse(8, 1, 2, (0, 1), False), SinglePulse(8, 3, 4, (0, 1), False)], [0, 1])
    gates = np.random.default_rng(0).normal(size=(2, 8))
    exact, drawn = (gated_moments(task, GatedLinear(gates), method=m, samples=100_000) for m in ("exact", "sampled"))
    assert np.abs(exact.a - drawn.a).max() < SIGMAS * 0.5 / np.sqrt(100_000)


@pytest.mark.slow
def test_ties_are_not_taken_for_half_of_the_covariance():
    """A flat gate on an even number of spins is often at exactly 0, where it is open: A is more than (S0 + S1)/4."""
    ring = [Ising(22, coupling) for coupling in (0.3, 0.7)]
    found = gated_moments(lx.Task(ring, [0, 1]), GatedLinear(np.ones((1, 22))))
    assert found.sampled
    open_ = [np.asarray(s.sample(jax.random.key(7), 100_000)).sum(1) >= 0 for s in ring]  # on spins, E[1 X_0^2] = E[1]
    chance = np.mean(open_)
    error = np.sqrt(0.25 / 200_000 + 0.25 / 200_000)  # two independent averages of 200,000 coins each
    assert abs(found.a[0, 0] - chance) < 6 * error
    assert chance > 0.5 + 6 * error
    assert not gated_moments(lx.Task(ring, [0, 1]), GatedLinear(np.eye(22)[:1])).sampled
