"""Users set no flag: every public function of theory works in float64 by itself, and so does sampling when asked."""

import dataclasses
import inspect
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import localax as lx
from localax import theory
from localax.networks import GatedLinear, SingleReLU, SoftCommittee
from localax.stimuli import NLGP, Algebraic, Empirical, Erf, Gaussian, Ising
from localax.theory import flows, gates, hypercube, sigmoid, steady
from localax.theory._float64 import in_float64

N = 8
W = np.random.default_rng(0).normal(size=N)
GAUSS = lx.Task([Gaussian(N, 0.5), Gaussian(N, 1.2)], [0, 1])
SPINS = lx.Task([Ising(N, 0.3), Ising(N, 0.7)], [0, 1])
DATA = Empirical(np.random.default_rng(1).uniform(-1, 1, (60, N)))
PHI = theory.amplifier(Erf(3.0))
PAIR = np.stack([W, -W])
BUMP = np.exp(-(np.minimum(np.arange(N), N - np.arange(N)) ** 2.0))


def nlgp(gain: float) -> lx.Task:
    return lx.Task([NLGP(N, 0.5, gain), NLGP(N, 1.2, gain)], [0, 1])


def biased() -> lx.Trajectory:
    return theory.exact_flow(GAUSS, SoftCommittee(2, "erf", bias=True), PAIR, times=[1.0])


CALLS: dict[str, Callable[[], object]] = {
    "amplifier": lambda: PHI(0.3),
    "amplifier of float32": lambda: PHI(jnp.float32(0.25)),
    "slope": lambda: PHI.slope([0.3, 0.4]),
    "elasticity": lambda: PHI.elasticity([0.0, 0.3]),
    "standard_error": lambda: theory.amplifier(DATA).standard_error([0.3]),
    "index": PHI.index,
    "crossing": lambda: theory.amplifier(Algebraic(5.0)).crossing(),
    "tabulated": lambda: PHI.tabulated()(0.3),
    "index_sign_change": lambda: theory.index_sign_change(Algebraic, 4.2, 6),
    "effective_flow": lambda: theory.effective_flow(SPINS, W, times=[1.0]),
    "solve_effective": lambda: flows.solve_effective(
        flows.effective_field(SPINS), W[None], np.ones(1), 1e-6, 1e-8
    ),
    "effective_field": lambda: flows.effective_field(SPINS)(W),
    "effective loss": lambda: flows.effective_field(SPINS).loss(W),
    "effective_input": lambda: flows.effective_input(SPINS.stimuli[0], W[None]),
    "effective_gradient_error": lambda: flows.effective_gradient_error(GAUSS.stimuli[1], W, n=200),
    "lindeberg": lambda: flows.lindeberg(W, SPINS.stimuli[1]),
    "pde_limit": lambda: flows.pde_limit(
        lambda n: lx.Task([Gaussian(n, n / 16), Gaussian(n, n / 7)], [0, 1]),
        lambda x: 1 + np.cos(2 * np.pi * x), sizes=(8, 16), time=1.0,
    ),
    "exact_flow": lambda: theory.exact_flow(GAUSS, SingleReLU(), W, times=[1.0]),
    "exact_flow of spins": lambda: theory.exact_flow(SPINS, SingleReLU(), W, times=[1.0]),
    "exact_flow with biases": biased,
    "mean_gated_input": lambda: theory.mean_gated_input(SPINS.stimuli[1], W),
    "mean_gated_input, sampled": lambda: theory.mean_gated_input(SPINS.stimuli[1], W, method="sampled", samples=100),
    "mean_gated_input, effective": lambda: theory.mean_gated_input(SPINS.stimuli[1], W, method="effective"),
    "mean_gated_input, windows": lambda: theory.mean_gated_input(SPINS.stimuli[1], W, method="windows"),
    "window_flow": lambda: theory.window_flow(SPINS, W, times=[1.0], order=2),
    "window_field": lambda: flows.window_field(SPINS, 2)(W),
    "window_growth_rates": lambda: steady.window_growth_rates(SPINS, 2),
    "Windows": lambda: theory.Windows(SPINS.stimuli[1], (2, 2)).mean_gated_input(W),
    "error of Windows": lambda: theory.Windows(SPINS.stimuli[1], (2, 2)).error(W),
    "Orbits": lambda: theory.Orbits(SPINS.stimuli[1], 64).mean_gated_input(W),
    "Windows.best": lambda: theory.Windows.best(SPINS.stimuli[1], W[None])[1],
    "second_moments": lambda: theory.windows.second_moments(SPINS.stimuli[1])(W[None]),
    "whole_ring": lambda: theory.windows.whole_ring(SPINS.stimuli[1], 2).gradients(W),
    "objective": lambda: theory.objective(SPINS, W),
    "objective, sampled": lambda: theory.objective(SPINS, W, method="sampled", samples=100),
    "gate_objective": lambda: theory.gate_objective(SPINS, W),
    "ascend_objective": lambda: theory.ascend_objective(SPINS, W, iterations=3),
    "dominance": lambda: theory.dominance(GAUSS, W),
    "dominance, sampled": lambda: theory.dominance(SPINS, W, average=True, samples=100),
    "difference_of_means": lambda: theory.difference_of_means(GAUSS),
    "compare_dominance": lambda: theory.compare_dominance(GAUSS, samples=100),
    "ascend_dominance": lambda: theory.ascend_dominance(GAUSS, W, steps=3, batch=10),
    "gabor_candidates": lambda: tuple(theory.gabor_candidates((N,)).values()),
    "critical_excess_kurtosis": lambda: theory.steady.critical_excess_kurtosis(SPINS),
    "critical_gain": lambda: theory.critical_gain(1, 3, 40),
    "critical_k": lambda: theory.critical_k(1, 3, 40),
    "critical_value": lambda: steady.critical_value(nlgp, 1e-3, 100),
    "exact_growth_rates": lambda: theory.exact_growth_rates(nlgp(1.0), samples=512),
    "exact_flat_height": lambda: steady.exact_flat_height(SPINS),
    "growth_quotient": lambda: steady.growth_quotient(SPINS, 0.3),
    "exact_critical_value": lambda: steady.exact_critical_value(
        lambda s: lx.Task([Gaussian(N, 0.9), Gaussian(N, s)], [0, 1]), 0.5, 1.2
    ),
    "edgeworth_growth_rates": lambda: steady.edgeworth_growth_rates(GAUSS),
    "summed_cumulant": lambda: steady.summed_cumulant(SPINS.stimuli[1]),
    "flat_growth_rates": lambda: theory.flat_growth_rates(nlgp(1.0)),
    "flat_height": lambda: steady.flat_height(nlgp(1.0)),
    "flat_is_unstable": lambda: float(steady.flat_is_unstable(nlgp(1.0))),
    "localized_attractor": lambda: theory.localized_attractor(SPINS),
    "ising_attractor": lambda: steady.ising_attractor(0.3, 0.7, np.arange(4)),
    "mode_fixed_points": lambda: steady.mode_fixed_points(GAUSS),
    "winning_mode": lambda: float(steady.winning_mode(GAUSS)),
    "steady_state": lambda: steady.steady_state(nlgp(3.0), BUMP, settle=50),
    "continue_branch": lambda: steady.continue_branch(nlgp, [3.0, 3.1], BUMP, settle=50),
    "gate_attractor": lambda: steady.gate_attractor(SPINS, [1.0, -1.0]),
    "gate_attractors": lambda: steady.gate_attractors(SPINS, 3),
    "settled_gate": lambda: steady.settled_gate(SPINS, BUMP, 3),
    "gate_doubt": lambda: steady.gate_doubt(SPINS, steady.gate_attractors(SPINS, 1)[0], 3),
    "noise_exponent": lambda: theory.noise_exponent(3.0),
    "student_batch_noise": lambda: theory.student_batch_noise(3.0, [1e3]),
    "spread_state": lambda: steady.spread_state(GAUSS, samples=2000).rates,
    "normal_form": lambda: steady.normal_form(nlgp(1.0), 1),
    "gated_moments": lambda: gates.gated_moments(GAUSS, GatedLinear(PAIR)),
    "gated_linear_flow": lambda: gates.gated_linear_flow(GAUSS, GatedLinear(PAIR), PAIR, times=[1.0]),
    "redundant_path": lambda: gates.redundant_path(np.eye(N), W, W, -W, times=[1.0]),
    "input_output_covariance": lambda: gates.input_output_covariance(nlgp(1.0), 2),
    "halfspace_pair": lambda: gates.halfspace_pair(np.eye(N), W, BUMP),
    "race": lambda: gates.race(GAUSS),
    "gate_families": lambda: tuple(gates.gate_families(GAUSS).values()),
    "bump_input": lambda: hypercube.bump_input(SPINS.stimuli[0], [0, 3], [1.0, 2.0]),
    "walsh_input": lambda: hypercube.walsh_input(SPINS.stimuli[0], W, degree=3),
    "chow": lambda: hypercube.chow(W),
    "margin": lambda: hypercube.margin(W),
    "relaxed_margin": lambda: hypercube.relaxed_margin(W),
    "separation": lambda: hypercube.separation(W),
    "bias_flow": lambda: sigmoid.bias_flow(GAUSS, PAIR, [0.1, -0.2]),
    "bias_response": lambda: sigmoid.bias_response(GAUSS, PAIR),
    "initial_push": lambda: sigmoid.initial_push(GAUSS, PAIR),
    "frequency_specialisation": lambda: sigmoid.frequency_specialisation(GAUSS, biased()),
    "population_output": lambda: sigmoid.population_output(PAIR, (PAIR, -0.1), (PAIR, 0.2)),
    "convolutional_output": lambda: sigmoid.convolutional_output(PAIR, [sigmoid.Population(W, 0.1)]),
    "starting_loss": lambda: sigmoid.starting_loss(GAUSS, W),
}  # fmt: skip


def numbers(value: object) -> list[np.ndarray]:
    """All numbers of a result, which must be numpy's or Python's own."""
    assert not isinstance(value, jax.Array)
    if isinstance(value, np.ndarray | float | np.floating):
        return [np.asarray(value)]
    if isinstance(value, tuple | list):
        return [array for item in value for array in numbers(item)]
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name != "settings"]
        return [array for name in names for array in numbers(getattr(value, name))]
    return []


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (i % 5 > 0)) for i, n in enumerate(CALLS)])
def test_the_same_numbers_with_the_flag_on_and_off(name):
    with jax.enable_x64(False):
        off = numbers(CALLS[name]())
    with jax.enable_x64(True):
        on = numbers(CALLS[name]())
    assert off
    assert len(off) == len(on)
    for a, b in zip(off, on, strict=True):
        assert a.dtype == np.float64 or a.dtype.kind in "iub"
        np.testing.assert_array_equal(a, b)


def test_every_public_function_is_among_them():
    rooms = (theory, flows, gates, hypercube, sigmoid, steady)
    public = {name for room in rooms for name in room.__all__ if inspect.isfunction(getattr(room, name))}
    assert public <= {name.split(",")[0].split(" ")[0] for name in CALLS}


@pytest.mark.slow
def test_an_amplifier_can_still_be_traced():
    a = jnp.array([0.1, 0.5])
    for phi in (PHI, PHI.tabulated(), PHI.taylor(3)):
        compiled = eqx.filter_jit(phi)(a)
        assert compiled.dtype == jnp.float32
        np.testing.assert_allclose(compiled, phi(a), rtol=1e-5)  # float32
        np.testing.assert_allclose(jax.vmap(phi)(a), phi(a), rtol=1e-5)
        np.testing.assert_allclose(jax.vmap(jax.grad(phi))(a), phi.slope(a), rtol=1e-4)


def test_float64_samples_need_no_flag():
    with jax.enable_x64(False):
        off = Gaussian(N, 1.0).sample(jax.random.key(0), 5, dtype=jnp.float64)
    with jax.enable_x64(True):
        on = Gaussian(N, 1.0).sample(jax.random.key(0), 5, dtype=jnp.float64)
    assert off.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(off), np.asarray(on))


def test_theory_makes_room_for_what_it_compiles(monkeypatch):
    asked = []
    monkeypatch.setattr("localax.theory._float64.make_room", lambda: asked.append(True))
    assert in_float64(lambda x: x + 1)(1) == 2
    assert asked == [True]
