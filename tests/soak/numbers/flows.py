"""Flows against scipy on enumerated or integrated gradients, and what the theory says at rest against all states."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

import localax as lx
from soak.numbers import planar, population, truth
from soak.numbers.population import ACTIVATIONS, Weights
from soak.numbers.rows import Case, Row, apart

TIMES = np.array([0.0, 0.3, 1.0, 3.0])
LOOSE = 2e-4
"""A flow to a relative 1e-6 a step: some hundred steps, and gates that jump inside of one."""

# A ReLU neuron on finite laws ---------------------------------------------------------------------------------------

COUPLINGS = ((0.3, 0.7), (0.0, 1.2), (-0.4, 0.5), (0.7, 0.3), (-1.0, -0.2))


def _pairs(n: int) -> dict[str, tuple[Any, list[truth.States]]]:
    s = lx.stimuli
    found = {
        f"Ising({n}, {pair})": ([s.Ising(n, j) for j in pair], [truth.ising(n, j) for j in pair]) for pair in COUPLINGS
    }
    short, long = truth.blocks(n, 1), truth.blocks(n, 2)
    found[f"BlockPulse({n})"] = [s.BlockPulse(n, 1), s.BlockPulse(n, 2)], [short, long]
    found[f"RandomScale({n})"] = (
        [s.Ising(n, 0.1), s.RandomScale(s.Affine(s.BlockPulse(n, 2), -0.8), 0.4)],
        [truth.ising(n, 0.1), truth.random_scale(truth.affine(long, -0.8, 0), 0.4)],
    )
    return found


def _start(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=n) * 0.3


def finite_flow(n: int, pair: str) -> float:
    """dw/dt = sum_c p_c [2 y_c f_c(w) - S_c w], by scipy; states that gates jump at leave steps of 1e-7."""
    stimuli, states = _pairs(n)[pair]
    shares, labels = (0.4, 0.6), (0.5, 1.0)
    moments = [truth.covariance(law) + np.outer(truth.mean(law), truth.mean(law)) for law in states]

    def velocity(_: float, w: np.ndarray) -> np.ndarray:
        parts = zip(shares, labels, states, moments, strict=True)
        return sum((p * (2 * y * truth.gated(law, w) - m @ w) for p, y, law, m in parts), np.zeros(n))

    wanted = scipy.integrate.solve_ivp(velocity, (0, TIMES[-1]), _start(n), t_eval=TIMES, rtol=1e-7, atol=1e-9)
    found = lx.theory.exact_flow(lx.Task(stimuli, labels, shares), lx.networks.SingleReLU(), _start(n), times=TIMES)
    slack = 1.0 if found.status[0] == "done" else 50.0  # it says itself that it fell short
    return apart(found.weights[0, :, 0], wanted.y.T, LOOSE * slack)


# Two pixels by quadrature -------------------------------------------------------------------------------------------


def _stimulus(kind: str, lengthscale: float) -> Any:
    s = lx.stimuli
    radial = {"Surface": s.Surface, "Shell": s.Shell, "Student t(7)": lambda: s.RadialStudentT(7)}
    return s.Gaussian(2, lengthscale) if kind == "Gaussian" else s.Elliptical(2, lengthscale, radial[kind]())


def planar_flow(kind: str, activation: str, units: int, bias: bool, offset: float) -> float:
    """The velocity and the loss of an exact flow on two pixels."""
    scales, labels, rng = (0.4, 0.9), (-0.3, 1.0), np.random.default_rng(units)
    network = lx.networks.SoftCommittee(units, activation, bias, offset)
    task = lx.Task([_stimulus(kind, scale) for scale in scales], labels)
    w = Weights(rng.normal(size=(units, 2)), rng.normal(size=units) * 0.5 if bias else None)
    laws = [planar.states(planar.RADII[kind](), math.exp(-1 / scale**2), w.weights) for scale in scales]
    slope = {"relu": lambda h: (h > 0) * 1.0, "erf": lambda h: math.sqrt(2 / math.pi) * np.exp(-(h**2) / 2)}[activation]
    pull, shift, wanted = np.zeros((units, 2)), np.zeros(units), 0.0
    for label, (x, chances) in zip(labels, laws, strict=True):
        h = x @ w.weights.T + (0 if w.biases is None else w.biases) + offset
        error = ACTIVATIONS[activation](h).mean(1) - label
        each = -2 / units * (chances * error)[:, None] * slope(h) / 2
        pull, shift, wanted = pull + each.T @ x, shift + each.sum(0), wanted + chances @ error**2 / 2
    with jax.enable_x64(True):
        flow = next(f for kind in lx.theory.flows.FLOWS if (f := kind.build(task, network, 1e-9)) is not None)
        fields, biases = jnp.asarray(w.weights), None if w.biases is None else jnp.asarray(w.biases)
        moved, along = flow.velocity(fields, biases)
        loss, _ = flow.measure(fields, biases)
    found = [apart(moved, pull, 1e-7), apart(loss, wanted, 1e-7)]
    return max([*found, apart(along, shift, 1e-7)] if bias else found)


def effective(size: Any) -> float:
    """On Gaussian classes the effective flow is the exact one."""
    task = lx.Task([lx.stimuli.Gaussian(size, 0.3), lx.stimuli.Gaussian(size, 0.45)], [0, 1])
    w0 = np.random.default_rng(0).normal(size=task.shape)
    exact = lx.theory.exact_flow(task, lx.networks.SingleReLU(), w0, times=TIMES)
    found = lx.theory.effective_flow(task, w0, times=TIMES)
    return max(apart(found.weights, exact.weights, 2e-5), apart(found.loss, exact.loss, 2e-5))


# At rest ------------------------------------------------------------------------------------------------------------


def rates(n: int, pair: tuple[float, float]) -> float:
    """Growth rates on Ising rings: P(S = 0)/2 for the density, and the powers of waves where the sum is 0."""
    laws = [truth.ising(n, j) for j in pair]
    spectra = [np.fft.fft(truth.covariance(law)[0]).real for law in laws]
    states, chances = laws[1]
    total, power = states.sum(1), np.abs(np.fft.fft(states, axis=1)) ** 2
    density = (chances * (np.abs(total) < 0.5)) @ power / 2
    height = chances @ np.abs(total) / (n * (spectra[0][0] + spectra[1][0]))
    wanted = density / (height * n) - (spectra[0] + spectra[1]) / 2
    wanted[0] = -(spectra[0][0] + spectra[1][0]) / 2
    task = lx.Task([lx.stimuli.Ising(n, j) for j in pair], [0, 1])
    return apart(lx.theory.exact_growth_rates(task).value, wanted, 1e-9)


def attractor(n: int, pair: tuple[float, float]) -> float:
    """Where one weight outweighs all others the localized field is at rest: its enumerated velocity is 0."""
    found = lx.theory.localized_attractor(lx.Task([lx.stimuli.Ising(n, j) for j in pair], [0, 1]))
    if not found.dominates:
        return 0.0
    laws = [truth.ising(n, j) for j in pair]
    damping = sum(truth.covariance(law) for law in laws) @ found.field / 2
    classes = [(float(label), label, law) for label, law in enumerate(laws)]
    wanted = population.loss(lx.networks.SingleReLU(), "mse", Weights(found.field[None]), classes)
    return max(apart(truth.gated(laws[1], found.field), damping, 1e-9), apart(found.loss, wanted, 1e-9))


def windows(n: int) -> float:
    """Independent pixels +-1 and a field of one pixel: windows see exactly what the gate does."""
    law = lx.stimuli.Ising(n, 0.0)
    seen = lx.theory.Windows(law, levels=(2,)).mean_gated_input(np.eye(n)[1])
    return apart(seen, truth.gated(truth.ising(n, 0.0), np.eye(n)[1]), 1e-6)


def _cases_of(check: Any, *axes: Any) -> list[Case]:
    return [Case(str(values), lambda v=values: check(*v)) for values in itertools.product(*axes)]


def _finite() -> list[Case]:
    return [Case(name, lambda n=n, name=name: finite_flow(n, name)) for n in range(2, 11) for name in _names(n)]


def _names(n: int) -> list[str]:
    return [*(f"Ising({n}, {pair})" for pair in COUPLINGS), f"BlockPulse({n})", f"RandomScale({n})"]


def _planar() -> list[Case]:
    relu = _cases_of(planar_flow, planar.RADII, ("relu",), (1, 2, 3), (False,), (0.0,))
    return relu + _cases_of(planar_flow, ("Gaussian",), ("erf",), (1, 2, 3), (False, True), (0.0, 0.4))


STRONG = ((0.3, 0.7), (0.0, 0.4), (0.2, 1.5), (-0.3, 0.3), (0.0, 3.0), (0.1, -2.0))
ROWS = [
    Row("flow: finite laws", _finite),
    Row("flow: two pixels", _planar),
    Row("flow: effective", lambda: _cases_of(effective, (2, 3, 4, 5, 7, 10, (2, 2), (2, 5), (3, 4)))),
    Row("rest: growth rates", lambda: _cases_of(rates, range(2, 11), STRONG)),
    Row("rest: attractor", lambda: _cases_of(attractor, range(3, 11), STRONG)),
    Row("rest: windows", lambda: _cases_of(windows, range(3, 11))),
]
