"""Training against closed forms that are derived here again: Gaussian flows C1 and C2 in time, the Ising end C5.

Localax has no 1/2 in its loss and its time is steps * rate, so a flow is dw/dt = -d/dw E(yhat - Y)^2: twice the
right-hand sides that the notes write for half that loss. A factor 2 in time is what these tests are made to see.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import erf

import localax as lx
from helpers import SIGMAS
from localax.networks import Isotropic, SingleReLU, SoftCommittee

N, RUNS, RATE, BATCH = 20, 24, 0.01, 200
LENGTHSCALES = (1, 2)
STEPS = (100, 250, 500)
"""t = 1, 2.5 and 5."""


def covariance(lengthscale):
    return np.array(
        [[np.exp(-(min((i - j) % N, (j - i) % N) ** 2) / lengthscale**2) for j in range(N)] for i in range(N)]
    )


CLASSES = [covariance(lengthscale) for lengthscale in LENGTHSCALES]


def relu_flow(w, labels):
    """-grad E(yhat - Y)^2 for yhat = mean_k relu(w_k.x): with h Gaussian, E relu(h_j) = d_j/sqrt(2 pi), and
    E relu(h_j) relu(h_k) = d_j d_k (sqrt(1 - g^2) + g (pi - arccos g))/(2 pi) (the arc-cosine kernel)."""
    units, total = len(w), np.zeros_like(w)
    for label, s in zip(labels, CLASSES, strict=True):
        q = w @ s @ w.T
        d = np.sqrt(np.diag(q))
        g = np.clip(q / np.outer(d, d), -1, 1)
        for j in range(units):
            teacher = label * s @ w[j] / (np.sqrt(2 * np.pi) * d[j])
            student = sum(
                (0.25 + np.arcsin(g[j, k]) / (2 * np.pi)) * (s @ w[k])
                + d[k] / d[j] * np.sqrt(1 - g[j, k] ** 2) / (2 * np.pi) * (s @ w[j])
                for k in range(units)
            )
            total[j] += (teacher - student / units) / units  # classes with weight 1/2, and 2 from the square
    return total


def erf_flow(w, b, labels):
    """The same for yhat = mean_k erf((w_k.x + b_k)/sqrt 2), with biases; by Stein's lemma E[f(h) X] = S w E f'(h)."""
    units, dw, db = len(w), np.zeros_like(w), np.zeros_like(b)
    for label, s in zip(labels, CLASSES, strict=True):
        q = w @ s @ w.T
        for j in range(units):
            a = 1 + q[j, j]
            slope = np.sqrt(2 / np.pi / a) * np.exp(-(b[j] ** 2) / (2 * a))  # E s'(h_j)
            db[j] += label * slope / units
            dw[j] += label * (-b[j] / a * slope) * (s @ w[j]) / units  # E s''(h_j)
            for k in range(units):
                spread = 2 * (1 + q[k, k] - q[j, k] ** 2 / a)
                u = (b[k] - q[j, k] * b[j] / a) / np.sqrt(spread)
                value = slope * erf(u)  # E s(h_k) s'(h_j)
                both = slope * 2 / np.sqrt(np.pi) * np.exp(-(u**2)) / np.sqrt(spread)  # E s'(h_k) s'(h_j)
                curved = -(b[j] * value + q[j, k] * both) / a  # E s(h_k) s''(h_j)
                db[j] -= value / units**2
                dw[j] -= (curved * (s @ w[j]) + both * (s @ w[k])) / units**2
    return dw, db


def solved(flow, start, times):
    """States at given times, by an ODE solver and by steps of the training's rate: exact, and as SGD without noise."""
    exact = solve_ivp(lambda _, y: flow(y), (0, times[-1]), start, t_eval=times, method="DOP853", rtol=1e-9, atol=1e-11)
    y, steps = start.copy(), [start]
    for _ in range(STEPS[-1]):
        y = y + RATE * flow(y)
        steps.append(y)
    return exact.y.T, np.array(steps)


def assert_follows(states, flow):
    """The mean over data seeds is the flow, up to the noise that these seeds show and the known error of finite steps.

    ``states``: (run, recorded step, number), from one start.
    """
    times = np.array(STEPS) * RATE
    truth, euler = solved(flow, states[0, 0].astype(float), np.concatenate([times, [2 * times[-1]]]))
    for i, step in enumerate(STEPS):
        here = states[:, step].astype(float)
        noise = here.std(0, ddof=1)
        noise = np.maximum(noise, np.sqrt(np.mean(noise**2)))  # 24 runs know a single entry's noise to 15% only
        tolerance = SIGMAS * noise / np.sqrt(RUNS) + np.abs(euler[step] - truth[i])
        gap = np.abs(here.mean(0) - truth[i])
        assert np.all(gap <= tolerance), f"step {step}: {np.max(gap / tolerance):.2f} times what noise allows"
        later = {1: truth[-1], 2: truth[2]}.get(len(STEPS) - i)  # the flow at twice the time, where it was solved
        if later is not None:
            assert np.any(np.abs(here.mean(0) - later) > 2 * tolerance), "a factor 2 in time would hide"


def trained(network, start, labels):
    task = lx.Task([lx.stimuli.Gaussian(N, lengthscale) for lengthscale in LENGTHSCALES], labels)
    settings = {"steps": STEPS[-1], "batch": BATCH, "rate": RATE, "seeds": RUNS, "saveat": lx.SaveAt(1, probe=20)}
    return lx.train(task, network, init=start, stream="independent", progress=False, **settings)


def start_of(units, size):
    return (size * np.random.default_rng(units).normal(size=(units, N))).astype(np.float32)


@pytest.mark.parametrize("units", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_relu_units_follow_the_gaussian_flow(units):
    network = SingleReLU() if units == 1 else SoftCommittee(units, "relu")
    run = trained(network, start_of(units, 0.4), [0, 1])
    assert run.time[-1] == 5
    states = run.weights.reshape(RUNS, len(run.time), -1)
    assert_follows(states, lambda y: relu_flow(y.reshape(units, N), (0, 1)).ravel())


@pytest.mark.slow
@pytest.mark.parametrize("units", [1, 5])
def test_erf_units_and_their_biases_follow_the_gaussian_flow(units):
    run = trained(SoftCommittee(units, "erf", True), start_of(units, 0.5), [-1, 1])
    states = np.concatenate([run.weights.reshape(RUNS, len(run.time), -1), run.biases], -1)
    last = run.biases[:, -1]
    assert np.abs(last.mean(0) / last.std(0)).max() > SIGMAS / np.sqrt(RUNS)  # biases do move

    def flow(y):
        dw, db = erf_flow(y[:-units].reshape(units, N), y[-units:], (-1, 1))
        return np.concatenate([dw.ravel(), db])

    assert_follows(states, flow)


@pytest.mark.slow
def test_an_ising_field_ends_at_the_exact_steady_state():
    n, runs = 40, 8
    t = [np.tanh(coupling) for coupling in (0.3, 0.7)]
    d = np.minimum(np.arange(n), n - np.arange(n))
    short, long = ((x**d + x ** (n - d)) / (1 + x**n) for x in t)
    circulant = np.array([[(short + long)[(i - j) % n] for j in range(n)] for i in range(n)])
    exact = np.linalg.solve(circulant, long)
    assert exact[0] > np.abs(exact[1:]).sum()  # so that the gate is the sign of one pixel, and this is a fixed point

    task = lx.Task([lx.stimuli.Ising(n, 0.3), lx.stimuli.Ising(n, 0.7)], [0, 1])
    run = lx.train(
        task, SingleReLU(), steps=3000, batch=128, rate=0.05, seeds=runs, init=Isotropic(0.01), estimator="orbit",
        stream="independent", progress=False, saveat=lx.SaveAt(1500, probe=20),
    )  # fmt: skip
    fields = run.final[:, 0].astype(float)
    peaks = np.argmax(np.abs(fields), -1)
    aligned = np.array([np.roll(w * np.sign(w[p]), -p) for w, p in zip(fields, peaks, strict=True)])
    # On binary data the gate is constant near the fixed point, so the mean of SGD is the fixed point itself.
    noise = np.sqrt(np.mean(aligned.std(0, ddof=1) ** 2)) / np.sqrt(runs)
    assert np.abs(aligned.mean(0) - exact).max() < SIGMAS * noise
    assert noise < 1e-3 < 0.1 * np.abs(exact[1])  # small enough to tell the tail from nothing
    assert abs(exact[0] - 0.4122) < 5e-5
    mean = aligned.mean(0)
    ipr = {name: np.sum(w**4) / np.sum(w**2) ** 2 for name, w in (("exact", exact), ("trained", mean))}
    assert abs(ipr["exact"] - 0.8537) < 5e-5
    # d ipr = 4 (w^3/|w|^4 - ipr w/|w|^2) dw
    slope = 4 * (exact**3 / np.sum(exact**2) ** 2 - ipr["exact"] * exact / np.sum(exact**2))
    assert abs(ipr["trained"] - ipr["exact"]) < SIGMAS * noise * np.linalg.norm(slope)
