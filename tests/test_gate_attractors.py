"""Steady states behind gates, against sums over all states of small rings, w* and the exact flow."""

from itertools import pairwise

import numpy as np
import pytest

from localax.networks import SingleReLU
from localax.stimuli import Gaussian, Ising, Task, hypercube_states
from localax.theory import exact_flow, localized_attractor, mean_gated_input
from localax.theory.steady import gate_attractor, gate_attractors, gate_doubt, settled_gate

pytestmark = pytest.mark.usefixtures("x64")


def ising(j0, j1, size=40, labels=(0, 1), shares=None):
    return Task([Ising(size, j0), Ising(size, j1)], list(labels), shares)


def law(task):
    return [(s.support().states, s.support().probabilities) for s in task.stimuli]


def test_one_pixel_is_the_localized_attractor():
    for couplings in ((0.3, 0.7), (0.7, 0.3), (0.3, 0.9)):
        task = ising(*couplings)
        (found,) = gate_attractors(task, 1)
        wanted = localized_attractor(task)
        np.testing.assert_allclose(found.field, wanted.field, atol=1e-14)
        assert found.exact == wanted.dominates
        for name in ("margin", "rate", "loss", "ipr"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-12)


@pytest.mark.parametrize(("couplings", "shares"), [((0.3, 0.9), None), ((-0.3, 0.9), (0.3, 0.7)), ((0.7, -0.3), None)])
def test_field_and_loss_behind_a_gate_by_all_states(couplings, shares):
    """Any odd gate, ties too: the regression behind it on all 2^10 states of both classes, label 2."""
    task = ising(*couplings, size=10, labels=(0, 2), shares=shares)
    inside = hypercube_states(5)
    gate = np.sign(inside @ np.array([1.0, 2.0, -1.0, 0.0, 0.0]))
    found = gate_attractor(task, gate)
    moment, drive = np.zeros((10, 10)), np.zeros(10)
    shown = np.array([8, 9, 0, 1, 2])
    sides = []
    for (x, p), share, label in zip(law(task), np.asarray(task.proportions), (0, 2), strict=True):
        opened = (1 + np.sign(x[:, shown] @ np.array([1.0, 2.0, -1.0, 0.0, 0.0]))) / 2
        # A tie is half open, so that gate times gate is not the gate: the drive is what counts, E[g X y] and E[XX']/2.
        moment += share * (x * p[:, None]).T @ x / 2
        drive += share * label * (p * opened) @ x
        sides.append((x, p, share, label, opened))
    w = np.linalg.solve(moment, drive)
    np.testing.assert_allclose(found.field, w, atol=1e-12)
    least = min(np.min((2 * opened - 1) * (x @ w)) for x, _, _, _, opened in sides)
    assert found.margin == pytest.approx(least, abs=1e-12)
    plain = gate_attractor(task, np.sign(inside @ np.array([1.0, 2.0, -2.0, 0.0, 0.0]) + 0.1 * inside[:, 4]))
    loss = 0.0
    for x, p, share, label, _ in sides:
        opened = np.sign(x[:, shown] @ np.array([1.0, 2.0, -2.0, 0.0, 0.1])) > 0
        loss += share * p @ (opened * (x @ plain.field) - label) ** 2
    assert plain.loss == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("couplings", [(-0.3, 0.9)])
def test_exact_gates_are_all_fixed_points_of_small_gates_and_no_others(couplings):
    """On 11 spins f(w_G) is summed over all states: it is f_G where the margin is positive, and nowhere else."""
    task = ising(*couplings, size=11)
    found = gate_attractors(task, 5)
    fields = np.stack([one.field for one in found])
    total = sum(s.covariance_matrix() for s in task.stimuli)
    f = mean_gated_input(task.stimuli[1], fields).value
    off = np.abs(2 * np.linalg.solve(total, f.T).T - fields).max(1)
    assert any(one.exact for one in found)
    for one, miss in zip(found, off, strict=True):
        assert (miss < 1e-12) == one.exact
        assert one.consistent
    losses = [one.loss for one in found]
    assert losses == sorted(losses)


@pytest.mark.slow
def test_a_gate_of_five_pixels_is_where_the_flow_ends():
    """J = (-.3, .9): no pixel dominates, one gate of five does, and the flow finds it from a random start."""
    task = ising(-0.3, 0.9, size=16)
    best = gate_attractors(task, 5)[0]
    assert best.exact
    assert not localized_attractor(task).dominates
    start = 0.01 * np.random.default_rng(1).normal(size=16)
    end = exact_flow(task, SingleReLU(), start, times=[60.0], rtol=1e-4, atol=1e-6).final[0, 0]
    turned = [s * np.roll(v, k) for s in (1, -1) for v in (end, end[::-1]) for k in range(16)]
    # Perturbations decay at .57 or faster: e^-34 of them is left, and the solver's tolerance.
    assert min(np.abs(t - best.field).max() for t in turned) < 1e-4


def test_ties_are_no_minima():
    """Two equal pixels: the field is consistent as far as it goes, and a step to either side lowers the loss."""
    task = ising(0.3, 0.7, size=10)
    inside = hypercube_states(3)
    tied = gate_attractor(task, np.sign(inside[:, 1] + inside[:, 2]))
    assert tied.margin <= 0
    assert tied.field[0] == pytest.approx(tied.field[1], abs=1e-13)

    def loss(w):
        return sum(p @ (np.maximum(x @ w, 0) - y) ** 2 for (x, p), y in zip(law(task), (0, 1), strict=True)) / 2

    step, (x, p) = np.eye(10)[0] - np.eye(10)[1], law(task)[1]
    kink = p @ (np.abs(x @ step) * (np.abs(x @ tied.field) < 1e-12)) / 2
    assert kink > 0.01
    for sign in (1, -1):
        drop = loss(tied.field) - loss(tied.field + sign * 1e-4 * step)
        assert drop == pytest.approx(1e-4 * kink, rel=0.02)  # the rest is of the second order in the step


def test_doubt_and_larger_windows():
    """The bounds hold the true probability, and the loss falls from window to window."""
    task = ising(0.3, 0.9, size=13)
    guess = localized_attractor(task).field
    found = [settled_gate(task, guess, m) for m in (1, 3, 5, 9, 13)]
    assert all(a.loss >= b.loss - 1e-12 for a, b in pairwise(found))
    assert found[-1].exact  # the window is the ring: nothing is left out
    x, p = law(task)[1]
    for one in found[:3]:
        places = (np.arange(one.pixels) - one.pixels // 2) % 13
        gate = one.gate[(x[:, places] < 0) @ (1 << np.arange(one.pixels))]
        truth = p[gate * (x @ one.field) < 0].sum()
        low, high = gate_doubt(task, one, 9)
        assert low - 1e-12 <= truth <= high + 1e-12
        assert gate_doubt(task, one, 13)[0] == pytest.approx(truth, abs=1e-12)


def test_numbers_at_stronger_coupling():
    """J = (.3, .9), 40 spins: w* is no fixed point, the gate of five pixels nearly one."""
    best = gate_attractors(ising(0.3, 0.9), 5)[0]
    assert best.ipr == pytest.approx(0.5419, abs=5e-5)
    assert not best.exact
    low, high = gate_doubt(ising(0.3, 0.9), best, 13)
    assert 0 < low < high < 0.002


def test_bad_input():
    spins = ising(0.3, 0.7)
    with pytest.raises(ValueError, match=r"^gate_attractors: pixels must be 1, 3 or 5; settled_gate takes larger"):
        gate_attractors(spins, 7)
    with pytest.raises(ValueError, match=r"^settled_gate: pixels must be an odd number of pixels, at most 17"):
        settled_gate(spins, np.ones(40), 4)
    with pytest.raises(ValueError, match=r"^settled_gate: guess must be one field of 40 finite numbers, not all 0"):
        settled_gate(spins, np.zeros(40))
    with pytest.raises(ValueError, match=r"^gate_attractors: task must be a Task of an Ising ring with a positive"):
        gate_attractors(Task([Gaussian(40, 1), Gaussian(40, 3)], [0, 1]))
    with pytest.raises(ValueError, match=r"^gate_attractors: task must be a Task of an Ising ring with a positive"):
        gate_attractors(ising(0.3, 0.7, labels=(-1, 1)))
    with pytest.raises(ValueError, match=r"^gate_attractor: gate must be 2\^m numbers -1, 0 or 1"):
        gate_attractor(spins, [1, 1])
    with pytest.raises(ValueError, match=r"^gate_attractor: gate must be 2\^m numbers -1, 0 or 1"):
        gate_attractor(spins, np.ones(3))
    with pytest.raises(ValueError, match=r"^gate_doubt: pixels must be at least the gate's own 5"):
        gate_doubt(spins, gate_attractors(spins, 5)[0], 3)
