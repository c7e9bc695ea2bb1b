"""What a ReLU neuron maximises, against sums over states, quadrature and fixed points; the ascent that never falls."""

import jax
import numpy as np
import pytest
from scipy import integrate

from localax import SettingError, Task
from localax.analysis import ipr
from localax.stimuli import (
    NLGP,
    Affine,
    Elliptical,
    Empirical,
    Gaussian,
    GaussianClone,
    Ising,
    Kur,
    Radial,
    RandomScale,
    hypercube_states,
)
from localax.theory import (
    ascend_objective,
    gate_objective,
    localized_attractor,
    mean_gated_input,
    objective,
)
from localax.theory.steady import mode_fixed_points

N = 10
SPINS = Task([Ising(N, 0.3), Ising(N, 0.7)], [0, 1])
SMOOTH = Task([Gaussian(N, 0.5), Gaussian(N, 1.2)], [0, 1])
FIELDS = np.random.default_rng(0).normal(size=(3, 2, N))
FLAT = FIELDS.reshape(-1, N)
NAMES = {"value": "standard_error"} | {name: f"{name}_error" for name in ("geary", "ratio", "loss", "height")}


def states_loss(task: Task, w: np.ndarray) -> float:
    """E(y - ReLU)^2 over all states of classes with few of them."""
    laws = [stimulus.support() for stimulus in task.stimuli]
    drawn = zip(laws, np.asarray(task.labels), task.proportions, strict=True)
    return sum(p * law.probabilities @ (y - np.maximum(law.states @ w, 0)) ** 2 for law, y, p in drawn)


# One line -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("labels", "shares"), [([0, 1], None), ([0, 2], [0.25, 0.75]), ([0.5, 1], [0.4, 0.6])])
def test_the_loss_at_the_best_height_is_that_of_all_states(labels, shares):
    task = Task(SPINS.stimuli, labels, shares)
    found = objective(task, FIELDS)
    assert found.value.shape == (3, 2)
    for w, loss, height in zip(FLAT, found.loss.ravel(), found.height.ravel(), strict=True):
        assert abs(states_loss(task, height * w) - loss) < 1e-12
        assert all(states_loss(task, factor * height * w) > loss for factor in (0.99, 1.01))
    power = np.sum(np.asarray(task.proportions) * np.square(labels))
    np.testing.assert_allclose(found.loss, power - found.value**2 / 4, atol=1e-12)
    np.testing.assert_allclose(found.value, np.sqrt(2 * power) * found.geary / np.sqrt(1 + found.ratio), rtol=1e-12)
    assert not any(getattr(found, error).any() for error in NAMES.values())


def test_the_parts_are_gearys_ratio_and_the_ratio_of_variances():
    found, states = objective(SPINS, FLAT), hypercube_states(N)
    chances = SPINS.stimuli[1].support().probabilities
    s0, s1 = (stimulus.covariance_matrix() for stimulus in SPINS.stimuli)
    for i, w in enumerate(FLAT):
        size = np.abs(states @ w)
        assert abs(found.geary[i] - chances @ size / np.sqrt(chances @ size**2)) < 1e-12
        assert abs(found.ratio[i] - w @ s0 @ w / (w @ s1 @ w)) < 1e-12


def test_labels_that_speak_against_a_field_leave_it_at_height_0():
    found = objective(Task(SPINS.stimuli, [0, -1]), FLAT)
    assert np.all(found.value < 0)
    assert not found.height.any()
    np.testing.assert_allclose(found.loss, 0.5)


def test_a_gaussian_with_a_mean_by_quadrature():
    short, long = Affine(Gaussian(N, 0.5), 1, 0.3), Affine(Gaussian(N, 1.2), 0.7, -0.2)
    w = FLAT[0]
    found = objective(Task([short, long], [0, 1]), w)

    def mean(stimulus, power):
        centre, spread = w.sum() * stimulus.mean()[0], np.sqrt(w @ stimulus.covariance_matrix() @ w)
        inside = lambda s: s**power * np.exp(-(((s - centre) / spread) ** 2) / 2)  # noqa: E731
        return integrate.quad(inside, 0, centre + 12 * spread)[0] / np.sqrt(2 * np.pi) / spread

    squares = mean(short, 2), mean(long, 2)
    assert abs(found.value - mean(long, 1) / np.sqrt(sum(squares) / 2)) < 1e-8
    assert abs(found.ratio - squares[0] / squares[1]) < 1e-8
    assert abs(found.loss - 0.5 + (mean(long, 1) / 2) ** 2 / (sum(squares) / 2)) < 1e-8


def test_a_data_set_is_taken_sample_by_sample():
    data = [np.asarray(s.sample(jax.random.key(c), 500)) for c, s in enumerate(SPINS.stimuli)]
    found = objective(Task([Empirical(x) for x in data], [0, 1]), FLAT)
    for w, loss, height in zip(FLAT, found.loss, found.height, strict=True):
        short, long = (np.maximum(height * x @ w, 0) for x in data)
        assert abs((np.mean(short**2) + np.mean((1 - long) ** 2)) / 2 - loss) < 1e-6  # samples are kept in float32


@pytest.mark.parametrize("stimuli", [SPINS.stimuli, [Empirical(s.support().states) for s in SPINS.stimuli]])
def test_sampled_numbers_are_as_good_as_their_errors_say(stimuli):
    """The second pair is not told to be symmetric, so that both moments are sampled; six standard errors."""
    task = Task(stimuli, [0, 1])
    exact, sampled = objective(task, FLAT), objective(task, FLAT, method="sampled", samples=20_000, seed=3)
    for name, error in NAMES.items():
        gap = np.abs(getattr(sampled, name) - getattr(exact, name))
        assert np.all(gap <= 6 * getattr(sampled, error) + 1e-12), name
    assert np.all((sampled.standard_error > 1e-4) & (sampled.standard_error < 0.02))


def test_heavy_tails_are_no_obstacle():
    """Radii with P(R > r) = r^-3 have no fourth moment; C of every field is known."""
    radius = Radial(lambda q: q ** (-1 / 3))
    task = Task([Elliptical(N, 0.5, radius), Elliptical(N, 1.2, radius)], [0, 1])
    exact, sampled = objective(task, FLAT), objective(task, FLAT, method="sampled", samples=20_000)
    assert np.ptp(exact.geary) < 1e-12
    assert np.all(np.abs(sampled.value - exact.value) < 6 * sampled.standard_error)


# What follows ---------------------------------------------------------------------------------------------------------


def test_on_elliptical_laws_the_ratio_decides_and_the_winning_wave_is_the_highest():
    found = objective(SMOOTH, FLAT)
    np.testing.assert_allclose(found.geary, np.sqrt(2 / np.pi), rtol=1e-12)
    waves = mode_fixed_points(SMOOTH)
    k = np.arange(N // 2 + 1)[:, None]
    at_waves = objective(SMOOTH, np.cos(2 * np.pi * k * np.arange(N) / N))
    np.testing.assert_allclose(at_waves.loss, waves.loss, atol=1e-12)
    assert at_waves.value.argmax() == waves.unstable.argmin()
    assert found.value.max() < at_waves.value.max()


def test_class_0_counts_by_its_covariance_alone():
    other = Task([GaussianClone(SPINS.stimuli[0]), SPINS.stimuli[1]], [0, 1])
    np.testing.assert_allclose(objective(other, FLAT).value, objective(SPINS, FLAT).value, rtol=1e-12)


def test_a_random_scale_multiplies_the_landscape_by_one_number():
    spread = 0.6
    scaled = Task([RandomScale(s, spread) for s in SPINS.stimuli], [0, 1])
    ratio = objective(scaled, FLAT).value / objective(SPINS, FLAT).value
    np.testing.assert_allclose(ratio, np.exp(-(spread**2) / 2), rtol=1e-12)
    assert scaled.stimuli[1].marginal.excess_kurtosis() == pytest.approx(np.exp(4 * spread**2) - 3)
    sampled = objective(scaled, FLAT[:2], method="sampled", samples=20_000)
    assert np.all(np.abs(sampled.value - objective(scaled, FLAT[:2]).value) < 6 * sampled.standard_error)


def test_a_random_scale_leaves_the_flow_alone_but_for_its_height():
    """f becomes E A times f and covariances stay, so that a flow that starts E A times as high stays so."""
    inner = SPINS.stimuli[1]
    scaled = RandomScale(inner, 0.6)
    ratio = mean_gated_input(scaled, FLAT).value / mean_gated_input(inner, FLAT).value
    np.testing.assert_allclose(ratio, np.exp(-0.18), rtol=1e-10)
    np.testing.assert_array_equal(scaled.covariance(), inner.covariance())


def test_the_law_of_a_scaled_pixel():
    """Moments of a mixture over a law of mean 0 and of another mean, against its nodes; its median."""
    for inner in (Kur(8, 1, 9), Affine(Ising(8, 0.7), 1, 0.5)):
        law = RandomScale(inner, 0.4).marginal
        values, weights = law.nodes()
        assert law.mean() == pytest.approx(weights @ values, abs=1e-9)
        assert law.variance() == pytest.approx(weights @ (values - law.mean()) ** 2, rel=1e-6)
        fourth = weights @ (values - law.mean()) ** 4 / law.variance() ** 2
        assert law.excess_kurtosis() == pytest.approx(fourth - 3, rel=1e-6)
    assert RandomScale(Kur(8, 1, 9), 0.4).marginal.cdf(np.array([0.0]))[0] == pytest.approx(0.5)
    assert RandomScale(Ising(8, 0.7), 0).marginal.atoms() is not None


# The gate's guarantee and the ascent ----------------------------------------------------------------------------------


def test_what_a_gate_guarantees_lies_between_its_field_and_the_best_one_behind_it():
    total = sum(s.covariance_matrix() for s in SPINS.stimuli)
    gated = mean_gated_input(SPINS.stimuli[1], FLAT).value
    behind = 2 * np.linalg.solve(total, gated.T).T
    low, middle, high = objective(SPINS, FLAT).value, gate_objective(SPINS, FLAT), objective(SPINS, behind).value
    assert np.all(low <= middle + 1e-12)
    assert np.all(middle <= high + 1e-12)
    loss = 0.5 - np.sum(gated * np.linalg.solve(total, gated.T).T, axis=1)  # the limiting loss of a fixed gate
    np.testing.assert_allclose(0.5 - middle**2 / 4, loss, atol=1e-12)


def test_the_gate_of_one_pixel_has_a_closed_form_on_copulas():
    """On +-1 pixels it is the localized attractor's own loss."""
    task = Task([NLGP(N, 0.3, 1e4), NLGP(N, 0.7, 1e4)], [0, 1])
    guaranteed = gate_objective(task, np.eye(N)[0])
    short, long = (2 / np.pi * np.arcsin(s.latent.row) for s in task.stimuli)
    matrix = np.array([np.roll(short + long, i) for i in range(N)])
    peak = np.linalg.solve(matrix, long)
    assert 0.5 - guaranteed**2 / 4 == pytest.approx(0.5 - long @ peak / 4, abs=1e-4)  # gain 1e4 is nearly +-1


@pytest.fixture(scope="module")
def climbed():
    return ascend_objective(SPINS, FLAT, tolerance=1e-12)  # ends only where nothing but rounding changes


def test_the_ascent_never_falls_and_ends_after_finitely_many_steps(climbed):
    assert np.diff(climbed.loss, axis=1).max() <= 1e-12
    assert np.diff(climbed.records["objective"], axis=1).min() >= -1e-12
    assert climbed.time[-1] < 50
    for w, loss in zip(climbed.final[:, 0], climbed.loss[:, -1], strict=True):
        assert abs(states_loss(SPINS, w) - loss) < 1e-12


def test_each_step_gains_at_least_half_its_length_squared(climbed):
    power = sum(s.covariance_matrix() for s in SPINS.stimuli) / 2
    steps = np.diff(climbed.weights[:, :, 0], axis=1)
    lengths = np.einsum("stp,pq,stq->st", steps, power, steps)
    assert np.all(-np.diff(climbed.loss, axis=1) >= lengths / 2 - 1e-12)


def test_the_ascent_ends_where_the_flow_rests(climbed):
    ends = climbed.final[:, 0]
    velocity = mean_gated_input(SPINS.stimuli[1], ends).value - ends @ sum(
        s.covariance_matrix() / 2 for s in SPINS.stimuli
    )
    assert np.abs(velocity).max() < 1e-12
    attractor = localized_attractor(SPINS)
    local = ends[ipr(ends) > 0.8]
    assert len(local) >= 3
    for w in local:
        place = int(np.abs(w).argmax())
        np.testing.assert_allclose(np.sign(w[place]) * np.roll(w, -place), attractor.field, atol=1e-10)


def test_on_gaussian_data_the_ascent_ends_at_the_winning_wave():
    ends = ascend_objective(SMOOTH, FLAT, iterations=3000, tolerance=1e-10)
    np.testing.assert_allclose(ends.loss[:, -1], mode_fixed_points(SMOOTH).loss.min(), atol=1e-10)


def test_the_sampled_ascent_never_falls_either_and_finds_the_same_field():
    found = ascend_objective(SPINS, np.eye(N)[0] + 0.05, method="sampled", samples=2000)
    assert np.diff(found.records["objective"], axis=1).min() >= -1e-12
    np.testing.assert_allclose(found.final[0, 0], localized_attractor(SPINS).field, atol=0.02)  # 2,000 orbits


def test_for_several_units_the_same_step_may_raise_the_loss():
    """Least squares behind the gates of three units on a ring of five spins, from the best common height."""
    states = hypercube_states(5)
    x, y = np.concatenate([states, states]), np.repeat([0.0, 1.0], len(states))
    chance = np.concatenate([Ising(5, j).support().probabilities for j in (0.3, 0.7)]) / 2
    w = np.array([[-2.0, 1, -2, -1, 1], [2, -1, 0, 2, -2], [1, 0, -1, 0, 1]])

    def output(w):
        return np.maximum(x @ w.T, 0).mean(1)

    def loss(w):
        return chance @ (y - output(w)) ** 2

    w = w * (chance @ (y * output(w))) / (chance @ output(w) ** 2)
    gated = np.concatenate([(x @ u > 0)[:, None] * x / 3 for u in w], axis=1)
    root = np.sqrt(chance)
    step = np.linalg.lstsq(gated * root[:, None], y * root, rcond=1e-9)[0].reshape(w.shape)
    assert loss(w) < 0.34
    assert loss(step) > 0.49


# What is refused ------------------------------------------------------------------------------------------------------

COPULA = Task([NLGP(8, 0.5, 3), NLGP(8, 1, 3)], [0, 1])
REFUSED = {
    "labels of 0": (lambda: objective(Task(COPULA.stimuli, [0, 0]), np.ones(8)), "labels that are not all 0"),
    "method": (lambda: objective(COPULA, np.ones(8), method="windows"), "one of exact, sampled"),
    "zeros": (lambda: objective(COPULA, np.zeros(8)), "objective: w must be different from 0"),
    "pixels": (lambda: objective(COPULA, np.ones(7)), "the pixels (8,)"),
    "no form": (lambda: objective(COPULA, np.ones(8)), "no exact form is known for NLGP at this w; use method"),
    "no gate": (lambda: gate_objective(COPULA, np.ones(8)), "gate_objective: no exact form is known for NLGP"),
    "negative": (lambda: ascend_objective(Task(COPULA.stimuli, [-1, 1]), np.ones(8)), "labels >= 0"),
    "asymmetric": (
        lambda: ascend_objective(Task([Empirical(np.eye(8)), COPULA.stimuli[1]], [0, 1]), np.ones(8)),
        "must be sign-symmetric classes",
    ),
    "an offset": (
        lambda: objective(Task([Affine(COPULA.stimuli[0], 1, 0.5), COPULA.stimuli[1]], [0, 1]), np.eye(8)[0]),
        "no exact form is known for Affine",
    ),
    "ascent without a form": (lambda: ascend_objective(COPULA, np.ones(8)), "use method='sampled'"),
    "ascent's method": (lambda: ascend_objective(COPULA, np.ones(8), method="x"), "one of exact, sampled"),
    "tolerance": (lambda: ascend_objective(COPULA, np.ones(8), tolerance=-1.0), "a finite number >= 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_told_in_one_line(case):
    call, words = REFUSED[case]
    with pytest.raises(SettingError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
