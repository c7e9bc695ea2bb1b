"""Windows: identities that hold to rounding, limits that are exact, tables against enumeration and quadrature."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import localax as lx
from localax import SettingError
from localax.stimuli import NLGP, Copula, Empirical, Gaussian, GeneralizedNormal, Ising, Kur, SquaredExponential, Window
from localax.theory import Orbits, Windows, mean_gated_input, window_flow
from localax.theory.flows import window_field
from localax.theory.steady import continue_branch, steady_state, window_growth_rates
from localax.theory.windows import whole_ring
from localax.theory.windows._tables import Tables

RNG = np.random.default_rng(0)
SPINS = lx.Task([Ising(40, 0.3), Ising(40, 0.7)], [0, 1])
SMALL = Ising(8, 0.7)
FIELDS = RNG.normal(size=(3, 8))
SKEWED = RNG.gamma(2.0, size=(400, 8)) - 2

MODELS = {
    "spins": Windows(Ising(8, -0.4), (2, 2, 2)),
    "strided": Windows(NLGP(8, 1.5, 1.0), (6, 4), stride=2),
    "far pairs": Windows(Kur(8, 0.5, 6.0), (4, 2), far_pairs=True),
    "torus": Windows(NLGP((2, 4), 1.0, 3.0), (4, 2)),
    "data": Windows(Empirical(SKEWED), (4, 3)),
    "open ends": Windows(Window(Ising(20, 0.5), 8), (2, 2)),
}


@pytest.mark.parametrize(
    "name", [n if n in ("spins", "data") else pytest.param(n, marks=pytest.mark.slow) for n in MODELS]
)
def test_f_is_the_gradient_of_h(name):
    """And Euler's identities, as E ReLU and E ReLU^2/2 are homogeneous of degree 1 and 2."""
    closure = MODELS[name].closure
    with jax.enable_x64(True):
        every = jax.jit(jax.vmap(jax.jacrev(lambda w: jnp.stack(closure.moments(w)))))(FIELDS)
        for w, slopes in zip(FIELDS, every, strict=True):
            h, square = closure.moments(w)
            f, g = closure.gradients(w)
            np.testing.assert_allclose(np.stack([f, g]), slopes, atol=1e-12)
            np.testing.assert_allclose([w @ f, w @ g], [h, 2 * square], rtol=1e-12)


def test_a_shifted_field_has_the_shifted_f():
    for name, axis, by in (("spins", 0, 3), ("strided", 0, 1), ("torus", (0, 1), (1, 2))):
        windows = MODELS[name]
        w = FIELDS[0].reshape(windows.stimulus.shape)
        moved = np.roll(windows.mean_gated_input(w), by, axis)
        np.testing.assert_allclose(windows.mean_gated_input(np.roll(w, by, axis)), moved, atol=1e-14)


def test_no_window_is_the_linear_amplifier():
    row = SMALL.covariance()
    image = np.array([np.roll(row, j) for j in range(8)]) @ FIELDS[0]
    expected = image / np.sqrt(2 * np.pi * FIELDS[0] @ image)
    np.testing.assert_allclose(Windows(SMALL, ()).mean_gated_input(FIELDS[0]), expected, atol=1e-14)


def test_gaussian_and_elliptical_laws_need_no_window():
    law = lx.stimuli.Elliptical(8, 1.0, lx.stimuli.Shell())
    exact = mean_gated_input(law, FIELDS).value
    np.testing.assert_allclose(Windows(law).mean_gated_input(FIELDS), exact, atol=1e-12)


def test_one_window_that_is_the_whole_ring_is_exact():
    closure = whole_ring(SMALL, 2)
    found = np.stack([closure.gradients(w)[0] for w in FIELDS])
    np.testing.assert_allclose(found, mean_gated_input(SMALL, FIELDS).value, atol=1e-12)


def test_longer_windows_of_spins_come_closer():
    """At localized fields, with the bounds that the flow at 40 spins has before it is localized."""
    law, star = Ising(14, 0.7), lx.theory.localized_attractor(lx.Task([Ising(14, 0.3), Ising(14, 0.7)], [0, 1])).field
    w = star + 0.01 * np.random.default_rng(1).normal(size=(4, 14))
    errors = [np.max(Windows(law, (2,) * m).error(w).value) for m in (1, 2, 4)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < 0.032
    assert errors[2] < 0.015


@pytest.mark.parametrize("offsets", [(0,), (0, 1, 2), (0, 2, 5)])
@pytest.mark.parametrize("coupling", [0.6, -0.8])
def test_the_table_of_spins_is_that_of_all_states(offsets, coupling):
    law = Ising(7, coupling).support()
    table = Tables(Ising(7, coupling)).at(offsets, 2, [0])
    inside = law.states[:, list(offsets)]
    cells = [c for c in itertools.product((-1, 1), repeat=len(offsets)) if c <= tuple(-np.array(c))]
    for i, cell in enumerate(cells):
        both = [np.all(inside == sign * np.array(cell), axis=1) for sign in (1, -1)]
        chance = law.probabilities[both[0]].sum()
        np.testing.assert_allclose(table.chance[0, i], 2 * chance, rtol=1e-12)
        mean = law.probabilities[both[0]] @ law.states[both[0]] / chance
        np.testing.assert_allclose(table.means[0, i], mean, atol=1e-12)


def test_the_map_of_a_copula_is_smoothed_alike_in_closed_form_and_by_quadrature():
    mean, variance = RNG.normal(size=(50, 3)), np.array([0.0, 0.1, 0.8])
    for marginal in (lx.stimuli.Erf(2.0), lx.stimuli.Uniform(), lx.stimuli.Normal()):
        general = lx.stimuli.AbstractNormalMap.smoothed(marginal, mean, variance)
        # Lines between 512 points of [-3, 3] are off by at most (6/511)^2/8 of a second derivative, 3.4 for erf(2 z).
        np.testing.assert_allclose(marginal.smoothed(mean, variance), general, atol=6e-5)


@pytest.mark.parametrize(("offsets", "levels"), [((0,), 4), ((0, 2), 4), ((0, 1, 2), 2)])
def test_the_table_of_a_copula_is_that_of_samples(offsets, levels):
    law, n = Kur(8, 1.5, 8.0), 50_000
    tables = Tables(law)
    table = tables.at(offsets, levels, [0])
    x = np.asarray(law.sample(jax.random.key(0), n), float)
    z = scipy.special.ndtri(law.marginal.cdf(np.linspace(-4, 4, 4001)))
    latent = np.interp(x[:, list(offsets)], np.linspace(-4, 4, 4001), z)
    place = np.searchsorted(tables.edges(levels), latent)
    cells = [c for c in itertools.product(range(levels), repeat=len(offsets)) if c <= tuple(levels - 1 - np.array(c))]
    for i, cell in enumerate(cells):
        first = np.all(place == cell, axis=1)
        second = np.all(place == levels - 1 - np.array(cell), axis=1)
        own = np.concatenate([x[first], -x[second]])
        error = np.sqrt(len(own)) / n
        assert abs(table.chance[0, i] - len(own) / n) < 6 * error + 1e-5
        if len(own) > 1000:
            gap = np.abs(own.mean(0) - table.means[0, i])
            assert np.all(gap < 6 * own.std(0) / np.sqrt(len(own)) + 2e-3)  # edges by interpolation


def test_symmetric_data_are_the_same_by_the_general_closure():
    """Every state of a ring as a data set that does not know of its symmetries: dense tables, no cell folded."""
    law = Ising(6, 0.0)
    data = Empirical(law.support().states)
    for levels in ((), (2,)):
        ring, dense = Windows(law, levels).closure, Windows(data, levels).closure
        for w in FIELDS[:, :6]:
            np.testing.assert_allclose(dense.moments(w), ring.moments(w), rtol=1e-12)
            np.testing.assert_allclose(dense.gradients(w), ring.gradients(w), atol=1e-12)


@pytest.mark.slow
def test_spins_follow_the_exact_flow():
    """To within 3e-4 of w*, the target for m = 4, in the distance relative to its length."""
    path = window_flow(SPINS, 0.007 * RNG.normal(size=(4, 40)), times=[100.0], order=4)
    star = lx.theory.localized_attractor(SPINS).field
    for w in path.final[:, 0]:
        at = np.argmax(np.abs(w))
        turned = np.sign(w[at]) * np.roll(w, -at)
        assert np.linalg.norm(turned - star) < 3e-4 * np.linalg.norm(star)
    assert path.settings["order"][0] is None
    assert path.settings["order"][1]["levels"] == [2, 2, 2, 2]


@pytest.mark.slow
def test_the_flow_descends_its_loss():
    task = lx.Task([Empirical(SKEWED), NLGP(8, 1.0, 2.0)], [1.0, -0.5], [0.3, 0.7])
    field = window_field(task, [Windows(task.stimuli[0], (4,)), Windows(task.stimuli[1], (4, 2))])
    with jax.enable_x64(True):
        velocity, slope = jax.jit(lambda w: (field(w), jax.grad(field.loss)(w)))(FIELDS[0])
    np.testing.assert_allclose(velocity, -slope, atol=1e-12)


@pytest.mark.slow
def test_a_law_that_nobody_chose_windows_for():
    law = Copula(16, SquaredExponential(2.0), GeneralizedNormal(6.0))
    task = lx.Task([Gaussian(16, 0.7), law], [0, 1])
    choice = Windows.choose(task, samples=2**12)
    assert choice.models[0] is None
    assert choice.good
    best = min(candidate.error for candidate in choice.candidates[1])
    assert best <= choice.errors[1] <= 1.1 * best + 1e-6
    linear = next(candidate for candidate in choice.candidates[1] if candidate.levels == ())
    assert choice.errors[1] < linear.error / 3


def test_it_says_where_no_windows_are_good():
    """The sign of a product of all pixels: what a window misses of it is nearly everything."""
    states = lx.stimuli.hypercube_states(5)
    odd = Empirical(states[np.prod(states, axis=1) > 0] + 0.3)
    with pytest.warns(UserWarning, match="no windows come within 2% of f"):
        Windows.choose(lx.Task([odd], [1.0]))


def test_a_sample_of_all_states_is_exact():
    states = lx.stimuli.hypercube_states(6)
    f = Orbits(Empirical(states), 64).mean_gated_input(FIELDS[0, :6])
    np.testing.assert_allclose(f, mean_gated_input(Ising(6, 0.0), FIELDS[0, :6]).value, atol=1e-12)


@pytest.mark.slow
def test_growth_rates_are_those_of_the_jacobian():
    """All of its eigenvalues, at the flat field where the flow rests."""
    task = lx.Task([NLGP(12, 0.7, 1.0), NLGP(12, 1.5, 1.0)], [0, 1])
    windows = Windows(task.stimuli[1], (8, 4))
    with jax.enable_x64(True):
        field = window_field(task, windows)
        velocity = jax.jit(lambda height: jnp.mean(field(jnp.full(12, height))))
        rest = np.full(12, scipy.optimize.brentq(lambda height: float(velocity(height)), 1e-3, 1.0, xtol=1e-14))
        jacobian = jax.jit(jax.jacrev(field))(rest)
    rates = np.sort(np.linalg.eigvals(jacobian).real)
    np.testing.assert_allclose(np.sort(window_growth_rates(task, windows)), rates, atol=1e-9)


def test_gaussian_growth_rates():
    task = lx.Task([Gaussian(12, 0.7), Gaussian(12, 1.5)], [0, 1])
    short, long = (np.fft.fft(s.covariance()).real for s in task.stimuli)
    expected = long * (short[0] / long[0] - short / long) / 2
    expected[0] = -(short[0] + long[0]) / 2
    np.testing.assert_allclose(window_growth_rates(task, 2), expected, atol=1e-10)


@pytest.mark.slow
def test_a_branch_of_steady_states():
    bump = np.exp(-(np.minimum(np.arange(12), 12 - np.arange(12)) ** 2.0))

    def task(coupling: float) -> lx.Task:
        return lx.Task([Ising(12, 0.3), Ising(12, coupling)], [0, 1])

    branch = continue_branch(task, [0.7, 0.75], bump, settle=50, order=lambda t: Windows(t.stimuli[1], (2, 2, 2)))
    assert np.all(branch.stable)
    for coupling, field in zip(branch.value, branch.field, strict=True):
        star = lx.theory.localized_attractor(task(coupling)).field
        assert np.linalg.norm(field - star) < 0.01 * np.linalg.norm(star)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Windows(SMALL, (2, 4)), "levels"),
        (lambda: Windows(NLGP(8, 1, 1), (1,)), "levels"),
        (lambda: Windows(NLGP(8, 1, 1), (64, 64, 64)), "at most 4096 cells"),
        (lambda: Windows(SMALL, (2, 2, 2), stride=4), "fit 8 pixels"),
        (lambda: Windows(SMALL, (2,), stride=0), "stride"),
        (lambda: Windows(SMALL, (2, 2), stride=(1, 2), shares=(0.5, 0.6)), "sum to 1"),
        (lambda: Windows(NLGP((4, 4), 1, 1), (2, 2, 2)), "torus"),
        (lambda: Windows(Empirical(SKEWED), (2,), far_pairs=True), "far_pairs"),
        (lambda: window_flow(SPINS, np.ones(40), times=[1.0], order=0), "order"),
        (lambda: window_flow(SPINS, np.ones(40), times=[1.0], order="best"), "order"),
        (lambda: window_flow(SPINS, np.ones(40), times=[1.0], order=Windows(SMALL, (2,))), "order"),
        (lambda: steady_state(SPINS, np.ones(40), order=2, amplifier="linear"), "amplifier"),
        (lambda: Windows.choose(lx.Task([SMALL], lambda x: x[:, 0])), "label"),
    ],
)
def test_refusals_in_one_line(call, said):
    with pytest.raises(SettingError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)
