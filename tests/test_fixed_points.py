"""Fixed points, thresholds and branches against enumeration, numerical Jacobians, known thresholds and each other."""

import math

import equinox as eqx
import jax
import numpy as np
import pytest

from helpers import matrix
from localax._math import real_dft, ring_distance
from localax.stimuli import (
    NLGP,
    Bernoulli,
    Copula,
    Elliptical,
    Gaussian,
    Ising,
    Kur,
    RadialStudentT,
    Shell,
    SinglePulse,
    SquaredExponential,
    Surface,
    Task,
)
from localax.theory import amplifier, critical_gain, critical_k, effective_flow, flat_growth_rates, localized_attractor
from localax.theory.flows import effective_field
from localax.theory.steady import (
    continue_branch,
    critical_excess_kurtosis,
    flat_height,
    flat_is_unstable,
    ising_attractor,
    mode_fixed_points,
    steady_state,
    winning_mode,
)
from localax.theory.steady._branches import growth_rates

pytestmark = pytest.mark.usefixtures("x64")
ISING = Task([Ising(40, 0.3), Ising(40, 0.7)], [0, 1])
GAUSSIAN = Task([Gaussian(40, 1), Gaussian(40, 3)], [0, 1])


def nlgp(gain, short=1, long=3):
    return Task([NLGP(40, short, gain), NLGP(40, long, gain)], [0, 1])


def kur(k, short=1, long=3):
    return Task([Kur(40, short, k), Kur(40, long, k)], [0, 1])


def bump(width, height=0.3):
    return height * np.exp(-((ring_distance(40) / width) ** 2))


# The localized attractor on hypercube data ----------------------------------------------------------------------------


def states(n, coupling):
    """All states of a ring with their probabilities."""
    x = np.array(np.meshgrid(*[[-1, 1]] * n)).reshape(n, -1).T
    weight = np.exp(coupling * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    return x, weight / weight.sum()


def test_attractor_is_a_fixed_point_of_the_enumerated_flow():
    """All 2^10 states: the flow vanishes, the loss is the mean squared error, and small perturbations decay."""
    task = Task([Ising(10, 0.3), Ising(10, 0.7)], [0, 1])
    found = localized_attractor(task, pixel=4)
    laws = [states(10, j) for j in (0.3, 0.7)]

    def flow(w):
        total = np.zeros(10)
        for (x, p), y in zip(laws, (0, 1), strict=True):
            response = np.maximum(x @ w, 0)
            total += (p * (y - response) * (x @ w > 0)) @ x
        return total  # 2 x 1/2: the loss has no 1/2, and the classes are equally likely

    w = found.field
    assert found.dominates
    assert int(np.argmax(w)) == 4
    np.testing.assert_allclose(flow(w), 0, atol=1e-13)
    loss = sum(p @ (y - np.maximum(x @ w, 0)) ** 2 for (x, p), y in zip(laws, (0, 1), strict=True)) / 2
    assert found.loss == pytest.approx(loss, abs=1e-12)
    jacobian = np.stack([(flow(w + 1e-6 * e) - flow(w - 1e-6 * e)) / 2e-6 for e in np.eye(10)])
    assert found.rate == pytest.approx(-np.linalg.eigvalsh(jacobian)[-1], abs=1e-7)


def test_attractor_numbers_of_the_ising_task():
    """C5: peak .41221, IPR .85370, loss .365626, and the closed form on an infinite ring."""
    found = localized_attractor(ISING)
    assert found.field[0] == pytest.approx(0.41221, abs=5e-6)
    assert found.ipr == pytest.approx(0.85370, abs=5e-6)
    assert found.loss == pytest.approx(0.365626, abs=5e-7)
    # Windings of the ring: tanh(1/2)^20 = 2e-7 times the skirt's height .16.
    np.testing.assert_allclose(ising_attractor(0.3, 0.7, ring_distance(40)), found.field, atol=4e-8)
    large = localized_attractor(Task([Ising(120, 0.3), Ising(120, 0.7)], [0, 1])).field
    np.testing.assert_allclose(ising_attractor(0.3, 0.7, ring_distance(120)), large, atol=1e-14)


@pytest.mark.parametrize(
    ("lengths", "ipr", "dominates"),
    [((0.3, 0.7), 0.9930, True), ((0.5, 1), 0.9433, True), ((1, 2), 0.8239, True), ((1, 3), 0.632, False)],
)
def test_attractor_of_binary_fields(lengths, ipr, dominates):
    found = localized_attractor(Task([Copula(40, SquaredExponential(x), Bernoulli()) for x in lengths], [0, 1]))
    assert found.ipr == pytest.approx(ipr, abs=5e-4)
    assert found.dominates == dominates == (found.margin > 0)


@pytest.mark.parametrize(("j1", "dominates"), [(0.838, True), (0.841, False)])
def test_dominance_ends_where_science_says(j1, dominates):
    assert localized_attractor(Task([Ising(200, 0.3), Ising(200, j1)], [0, 1])).dominates == dominates


def test_attractor_for_any_labels_proportions_and_scale():
    """Pulses of +-1 and an Ising ring with labels -1 and 2: the drive is sum p y S e_i, the field solves for it."""
    task = Task([SinglePulse(9, 1, 2), Ising(9, 0.2)], [-0.1, 2], [0.3, 0.7])
    found = localized_attractor(task, 2)
    s0, s1 = (matrix(s.covariance()) for s in task.stimuli)
    np.testing.assert_allclose((0.3 * s0 + 0.7 * s1) @ found.field, -0.03 * s0[2] + 1.4 * s1[2], atol=1e-12)


def test_attractor_needs_a_hypercube():
    with pytest.raises(ValueError, match=r"^localized_attractor: task must be sign-symmetric, with pixels of one"):
        localized_attractor(GAUSSIAN)


# Waves on Gaussian and elliptical data --------------------------------------------------------------------------------


def test_gaussian_waves_have_the_counted_instabilities():
    """C3: at mode k exactly the modes with a smaller r grow; checked by the Jacobian of the flow itself."""
    points, field = mode_fixed_points(GAUSSIAN), effective_field(GAUSSIAN)  # phi is exact for Gaussians
    basis, measured = real_dft(40), jax.jit(lambda w: (field(w), field.loss(w)))
    for k in (0, 1, 3, 7):
        w = points.amplitude[k] * basis[0 if k == 0 else 2 * k - 1]
        velocity, loss = measured(w)
        np.testing.assert_allclose(velocity, 0, atol=1e-14)
        rates = growth_rates(field, w)
        assert np.sum(rates > 1e-9) == points.unstable[k]
        wanted = np.repeat(points.growth[k], points.multiplicity)
        if k:
            wanted[2 * k] = 0  # the other phase of the wave costs nothing
        np.testing.assert_allclose(rates, np.sort(wanted)[::-1], atol=1e-10)
        assert points.loss[k] == pytest.approx(float(loss), abs=1e-13)
    np.testing.assert_array_equal(points.unstable[[0, 1, 3]], [0, 1, 5])


def test_numbers_of_the_gaussian_task():
    """B-19, B-09, C3: amplitude .259503 (notes .335465), growth .0448 at the wave of period 1, loss by r_k."""
    points = mode_fixed_points(GAUSSIAN)
    assert points.amplitude[0] == pytest.approx(0.259503, abs=5e-7)
    assert points.growth[1, 0] == pytest.approx(0.0448, abs=5e-5)
    assert points.ratio is not None
    np.testing.assert_allclose(points.loss / 2, 1 / 4 - 1 / (4 * np.pi * (1 + points.ratio)), atol=1e-12)
    assert winning_mode(GAUSSIAN) == int(np.argmin(points.ratio)) == 0


@pytest.mark.parametrize(("radial", "height"), [(RadialStudentT(3), 0.03274), (Surface(), 0.04129), (Shell(), 0.04035)])
def test_heights_on_elliptical_data(radial, height):
    task = Task([Elliptical(40, 1, radial), Elliptical(40, 3, radial)], [0, 1])
    assert winning_mode(task) == 0
    assert mode_fixed_points(task).amplitude[0] / np.sqrt(40) == pytest.approx(height, abs=5e-6)


def test_swapped_labels_and_a_torus():
    """With the labels swapped the shortest wave wins; on a torus frequencies come in pairs."""
    swapped = Task(GAUSSIAN.stimuli, [1, 0])
    points = mode_fixed_points(swapped)
    kept = points.amplitude > 0
    assert winning_mode(swapped) == np.argmax(np.where(kept, mode_fixed_points(GAUSSIAN).ratio, -1))
    torus = mode_fixed_points(Task([Gaussian((6, 7), 0.5), Gaussian((6, 7), 0.9)], [0, 1]))
    assert torus.frequency.shape[1] == 2
    assert torus.multiplicity.sum() == 42
    assert winning_mode(Task([Gaussian((6, 7), 0.5), Gaussian((6, 7), 0.9)], [0, 1])) == (0, 0)
    with pytest.raises(ValueError, match=r"^mode_fixed_points: task must be of Gaussian or elliptical classes"):
        mode_fixed_points(ISING)


# Thresholds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "gain", "k"),
    [((1, 3), 0.2285, 5.8188), ((1, 2), 0.1854, 5.7797), ((0.3, 0.7), 0.1231, 5.8196)],
)
def test_table_of_thresholds(lengths, gain, k):
    """C8; the digits of k were confirmed by 2-D quadrature of the covariances."""
    assert critical_gain(*lengths, 40) == pytest.approx(gain, abs=5e-5)
    assert critical_k(*lengths, 40) == pytest.approx(k, abs=5e-5)


@pytest.mark.parametrize("task", [nlgp(0.3), nlgp(3, 0.3, 0.7), kur(5), ISING], ids=["nlgp", "steep", "kur", "ising"])
def test_flat_rates_equal_the_jacobian(task):
    """Rates from the elasticity against the eigenvalues of the Jacobian at the flat fixed point."""
    height, field = flat_height(task), effective_field(task)
    w = np.full(40, height)
    np.testing.assert_allclose(eqx.filter_jit(field)(w), 0, atol=1e-12)
    rates = flat_growth_rates(task)
    # The table behind the flow has slopes good to 1e-6.
    np.testing.assert_allclose(growth_rates(field, w), np.sort(rates)[::-1], atol=3e-6)
    assert flat_is_unstable(task) == (rates[1:].max() > 0)


def test_criterion_is_the_elasticity():
    """E(a) > min (1 + r_k)/(1 + r_0), with the numbers of C8 at the threshold itself."""
    task = nlgp(critical_gain(1, 3, 40))
    l0, l1 = (np.fft.fft(s.covariance()).real for s in task.stimuli)
    r, a = l0 / l1, np.sqrt(l1[0] / 40)
    elasticity = float(amplifier(task.stimuli[1].marginal).elasticity(a))
    assert elasticity == pytest.approx(np.min((1 + r[1:20]) / (1 + r[0])), abs=1e-7)
    assert task.stimuli[1].marginal.excess_kurtosis() == pytest.approx(-0.332, abs=2e-3)
    assert kur(critical_k(1, 3, 40)).stimuli[1].marginal.excess_kurtosis() == pytest.approx(0.056, abs=2e-3)


@pytest.mark.slow
def test_flow_leaves_the_flat_field_only_above_the_threshold():
    start = np.full(40, 0.04) + 0.002 * np.cos(2 * np.pi * np.arange(40) / 40)
    spread = {g: float(np.std(effective_flow(nlgp(g), start, times=[1.0, 10.0, 300.0]).final)) for g in (0.2, 0.26)}
    assert spread[0.2] < np.std(start) < spread[0.26]


def test_thresholds_that_do_not_exist():
    with pytest.raises(ValueError, match=r"^critical_value: low, high must be settings of which only one"):
        critical_gain(1, 3, 40, low=1, high=10)
    with pytest.raises(ValueError, match=r"^flat_growth_rates: task must be of labels under which"):
        flat_growth_rates(Task(ISING.stimuli, [0, -1]))


def excess(stimulus):
    return stimulus.marginal.excess_kurtosis()


@pytest.mark.parametrize(("size", "expected"), [(100, -0.1202), (1600, -0.006997), ((60, 60), -0.8564)])
def test_thresholds_of_large_rings_and_tori(size, expected):
    """NLGP at (1, 3): the full criterion, the expansion at small a, and its limit for Gaussian covariances."""
    gain = critical_gain(1, 3, size)
    stimuli = NLGP(size, 1, gain), NLGP(size, 3, gain)
    pixels = np.prod(size)
    assert excess(stimuli[1]) == pytest.approx(expected, rel=1e-3)
    square = stimuli[1].covariance().sum() / pixels  # a^2, which is what the expansion leaves out
    assert critical_excess_kurtosis(Task(stimuli, [0, 1])) == pytest.approx(excess(stimuli[1]), rel=1.5 * square)
    gaussian = critical_excess_kurtosis(Task([Gaussian(size, 1), Gaussian(size, 3)], [0, 1]))
    limit = -2 * np.pi**1.5 / pixels if np.ndim(size) == 0 else -4 * np.pi / 15
    wave = 8 * (np.pi / np.ravel(size)[0]) ** 2  # log r_1/r_0
    assert gaussian == pytest.approx(limit * np.expm1(wave) / wave, rel=1e-3)  # sums, not integrals


def continued_elasticity(a, k):
    """E(a) of Kur(k) for 5 < k < 6 from the fourth moment, the sixth continued to where it is finite, and the tail."""
    g = math.gamma
    sd = math.sqrt(g(3 / k) * g(1 - 2 / k) / g(1 + 1 / k) / k)
    fourth, sixth = (g((n + 1) / k) * g(1 - n / k) / g(1 + 1 / k) / k / sd**n for n in (4, 6))
    tail = g(1 - k / 2) / (k - 1) / (math.sqrt(2) * sd) ** k
    c = a / math.sqrt(1 - a**2)
    slope = 1 - fourth * c**2 / 2 + sixth * c**4 / 8 + (k - 1) * tail * c ** (k - 2)
    return (1 + c**2) * slope / (1 - fourth * c**2 / 6 + sixth * c**4 / 40 + tail * c ** (k - 2))


def test_heavy_tails_put_the_threshold_of_large_rings_elsewhere():
    """Kur has no sixth moment where its excess kurtosis is 0: there the threshold is above 0, and falls more slowly."""
    k = critical_k(1, 3, 1600)
    short, long = (np.fft.fft(Kur(1600, length, k).covariance()).real[:2] for length in (1, 3))
    r, a = short / long, np.sqrt(long[0] / 1600)
    # Tiny differences of E from 1 decide; the tail's next term is of order a^4.
    wanted = (1 + r[1]) / (1 + r[0]) - 1
    assert continued_elasticity(a, k) - 1 == pytest.approx(wanted, abs=0.02 * a**4)
    assert excess(Kur(1600, 3, k)) == pytest.approx(0.02727, abs=2e-5)


def test_what_the_large_threshold_needs():
    with pytest.raises(ValueError, match=r"^critical_excess_kurtosis: task must be a Task on a ring or torus with two"):
        critical_excess_kurtosis(Task(ISING.stimuli, [0, 2]))


# Steady states and branches -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_steady_state_is_where_the_flow_ends():
    end = effective_flow(ISING, bump(2), times=[1.0, 10.0, 400.0], rtol=1e-9).final[0, 0]
    found = steady_state(ISING, bump(2), settle=20.0)
    np.testing.assert_allclose(found.field, end, atol=1e-7)
    assert found.residual < 1e-11
    assert found.stable == (found.rates[0] < 1e-7)
    # Rates by differences of the flow instead of by its Jacobian.
    field, h = effective_field(ISING), 1e-6
    every = jax.jit(jax.vmap(field))
    steps = (every(end + h * np.eye(40)) - every(end - h * np.eye(40))) / (2 * h)
    differences = np.linalg.eigvals(steps.T).real
    np.testing.assert_allclose(np.sort(differences)[::-1][:5], found.rates[:5], atol=1e-6)


def test_unstable_states_are_found_too():
    """A Gaussian task rests at a wave with two growing directions per slower mode; it may slide, at rate 0."""
    points = mode_fixed_points(GAUSSIAN)
    wave = np.cos(2 * np.pi * 3 * np.arange(40) / 40)
    found = steady_state(GAUSSIAN, 0.9 * points.amplitude[3] * wave / np.linalg.norm(wave))
    assert np.linalg.norm(found.field) == pytest.approx(points.amplitude[3], abs=1e-9)
    assert found.unstable == points.unstable[3] == 5
    assert not found.stable
    assert found.loss == pytest.approx(points.loss[3], abs=1e-12)


@pytest.mark.slow
def test_nlgp_leaves_the_flat_field_continuously():
    """xi = (1, 3): a bump grows out of the flat field at g_c = .2285, and no bump exists below it: no hysteresis."""
    gains = [0.5, 0.4, 0.3, 0.26, 0.24, 0.232, 0.225, 0.2]
    bumps, flats = continue_branch(nlgp, gains, bump(5, 0.1)), continue_branch(nlgp, gains, np.full(40, 0.04))
    above = np.array(gains) > critical_gain(1, 3, 40)
    np.testing.assert_array_equal(bumps.value, gains)
    assert np.all(bumps.stable)
    np.testing.assert_array_equal(flats.stable, ~above)
    np.testing.assert_allclose(flats.ipr, 1 / 40)
    np.testing.assert_allclose(bumps.ipr[~above], 1 / 40)
    # A pitchfork: the distance from the flat field grows like the square root of the distance from the threshold.
    square = (bumps.field.std(1) / bumps.field.mean(1))[above][-2:] ** 2
    assert square[0] / square[1] == pytest.approx((0.24 - 0.2285) / (0.232 - 0.2285), rel=0.1)
    assert np.all(bumps.loss[above] < flats.loss[above])


@pytest.mark.slow
def test_kur_at_short_lengthscales_has_a_window_of_both():
    """xi = (.3, .7): the bump lives on below k_c = 5.8196, where the flat field is stable again, and ends at a fold."""

    def tasks(k):
        return kur(k, 0.3, 0.7)

    branch = continue_branch(tasks, [8, 6.5, 6, 5.9, 5.85, 5.82, 5.81, 5.79], bump(1))
    assert 5.79 < branch.value[-1] <= 5.81
    assert branch.ipr[-1] > 0.055
    assert branch.stable[-1]
    assert not flat_is_unstable(tasks(5.81))


@pytest.mark.slow
def test_settling_shows_what_a_neuron_would_do():
    """Rising from the flat field and falling from the bump with the flow itself: the same states at either end."""
    gains = [0.15, 0.35]
    rising = continue_branch(nlgp, gains, np.full(40, 0.04), settle=400.0, kick=1e-2)
    falling = continue_branch(nlgp, gains[::-1], rising.field[-1], settle=400.0, kick=1e-2)
    np.testing.assert_allclose(rising.ipr, falling.ipr[::-1], atol=1e-4)
    assert rising.ipr[0] == pytest.approx(1 / 40)
    assert rising.ipr[1] > 0.05


def test_branch_in_the_lengthscale():
    branch = continue_branch(lambda xi: nlgp(3, 1, xi), [3, 2.5, 2], bump(2))
    assert np.all(np.diff(branch.ipr) > 0)  # a shorter long lengthscale gives a narrower field
    assert np.all(branch.residual < 1e-11)


def test_bad_guesses_give_one_clear_line():
    with pytest.raises(ValueError, match=r"^steady_state: w0 must be not zero everywhere"):
        steady_state(ISING, np.zeros(40))
    with pytest.raises(ValueError, match=r"^steady_state: guess must be one field of at most 4096 pixels"):
        steady_state(ISING, np.ones((2, 40)))
    with pytest.raises(ValueError, match=r"^continue_branch: values must be finite numbers, one or more"):
        continue_branch(nlgp, [], np.ones(40))


@pytest.mark.slow
def test_torus_steady_state():
    """A flat field on a torus, with its rates from the elasticity."""
    task = Task([NLGP((6, 6), 0.5, 1), NLGP((6, 6), 0.9, 1)], [0, 1])
    found = steady_state(task, np.full((6, 6), 0.1))
    np.testing.assert_allclose(found.field, flat_height(task), atol=1e-10)
    np.testing.assert_allclose(found.rates, np.sort(flat_growth_rates(task).ravel())[::-1], atol=3e-6)
