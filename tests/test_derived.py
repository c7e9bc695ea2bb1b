"""Scale, offset and open ends of any stimulus: their laws, and every closed form that survives them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from helpers import assert_within, matrix, statements
from localax.networks import SingleReLU, SoftCommittee
from localax.stimuli import (
    NLGP,
    AbstractMarginal,
    AbstractStimulus,
    Affine,
    Bernoulli,
    BlockPulse,
    Copula,
    Elliptical,
    Empirical,
    Exponential,
    Filtered,
    Gaussian,
    GaussianClone,
    Ising,
    Kur,
    Laplace,
    Quantile,
    RadialStudentT,
    RandomScale,
    Shell,
    SinglePulse,
    Task,
    Window,
    check_stimulus,
    hypercube_states,
)
from localax.theory import (
    amplifier,
    effective_flow,
    exact_flow,
    flat_growth_rates,
    localized_attractor,
    mean_gated_input,
)
from localax.theory.steady import mode_fixed_points

KEY = jax.random.key(3)


class Arcsine(AbstractMarginal):
    """One value of a cosine of random phase, of which nothing but moments and distribution function is told."""

    def mean(self):
        return 0.0

    def variance(self):
        return 0.5

    def excess_kurtosis(self):
        return -1.5

    def cdf(self, x):
        return 0.5 + np.arcsin(np.clip(x, -1, 1)) / np.pi


class Wave(AbstractStimulus):
    """Somebody's own stimulus: a cosine of random phase."""

    size: int = eqx.field(static=True)

    def draw(self, key, n, dtype):
        phase = jax.random.uniform(key, (n, 1), dtype, maxval=2 * np.pi)
        return jnp.cos(jnp.arange(self.size, dtype=dtype) * (2 * np.pi / self.size) + phase)

    def covariance(self):
        return np.cos(2 * np.pi * np.arange(self.size) / self.size) / 2

    @property
    def marginal(self):
        return Arcsine()


SKEWED = Quantile(lambda p: -np.sqrt(2) * (1 - p), lambda q: -2 * jnp.log(q))
DATA = Empirical(np.random.default_rng(0).gamma(2.0, size=(3000, 10)) * np.linspace(1, 2, 10))
DERIVED = {
    "turned and moved": Affine(NLGP(20, 2, 3), -2, 0.7),
    "spins of another size": Affine(Ising(12, 0.5), 0.1, 0.3),
    "large spins": Affine(Ising(12, 0.5), 300, 4),
    "an uneven coin, turned": Affine(SinglePulse(20, 4, 8, (0, 1), False), -2, 0.7),
    "a skewed copula, turned": Affine(Copula(20, Exponential(2), SKEWED), -0.5, 3),
    "heavy tails": Affine(Kur(20, 2, 3), 5),
    "data": Affine(DATA, -0.3, 2),
    "own": Affine(Wave(10), 3, -1),
    "piece of own": Window(Wave(10), 4),
    "corner": Window(Kur((12, 10), 1.2, 4), (6, 5)),
    "piece of a heavy ellipse": Window(Elliptical(20, 2, RadialStudentT(3)), 9),
    "piece of data": Window(DATA, 4),
    "piece of an uneven Gaussian": Window(GaussianClone(DATA), 4),
    "piece of a filtered piece": Window(Filtered(Window(NLGP(30, 2, 3), 20), [1, 1]), 10),
    "one in the other": Affine(Window(Affine(Gaussian(20, 1), 3, 1), 7), -2, 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DERIVED)
def test_they_are_what_they_say(name):
    report = statements(DERIVED[name])
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("name", ["turned and moved", "corner"])
def test_the_whole_battery(name):
    report = check_stimulus(DERIVED[name], n=5000)
    assert report.ok, report


def test_samples_are_those_of_the_stimulus_inside():
    inner = NLGP((6, 8), 1, 3)
    x = np.asarray(inner.sample(KEY, 5))
    np.testing.assert_allclose(Affine(inner, -2, 0.5).sample(KEY, 5), 0.5 - 2 * x, rtol=1e-5)  # float32
    np.testing.assert_array_equal(Window(inner, (3, 4)).sample(KEY, 5), x[:, :3, :4])


# Marginals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [3.0, -3.0])
def test_a_moved_marginal_against_scipy(scale):
    law = Affine(Copula(8, Exponential(1), Laplace()), scale, 1.5).marginal
    truth, x = stats.laplace(1.5, 3 / np.sqrt(2)), np.linspace(-20, 20, 41)
    np.testing.assert_allclose(law.cdf(x), truth.cdf(x), atol=1e-9)
    assert (law.mean(), law.variance(), law.excess_kurtosis()) == pytest.approx((1.5, 9, 3), rel=1e-9)
    assert law.standard_moment(6) == pytest.approx(90, rel=1e-6)
    values, weights = law.nodes()
    assert np.all(np.diff(values) >= 0)
    assert np.sum(weights * values**2) == pytest.approx(1.5**2 + 9, rel=1e-9)


def test_values_of_a_moved_coin_are_met_exactly():
    law = Affine(SinglePulse(20, 4, 8, (0, 1), False), -0.1, 0.3).marginal  # 0.3, and 0.2 with chance 6/20
    values, chances = law.atoms()
    np.testing.assert_allclose(values, [0.2, 0.3])
    np.testing.assert_allclose(chances, [0.3, 0.7])
    np.testing.assert_allclose(law.cdf(np.array([0.19, values[0], 0.25, values[1]])), [0, 0.3, 0.3, 1])


@pytest.mark.slow
def test_the_amplifier_of_a_stretched_law():
    """c phi(a/c), whatever the law: a user's own too, and an offset and a sign change nothing."""
    a = np.array([0.1, 0.5, 0.9])
    for inner in (NLGP(10, 1, 1), Wave(10), DATA):
        base = amplifier(inner)
        for scale, offset in ((2.0, 0.0), (-2.0, 5.0)):
            phi = amplifier(Affine(inner, scale, offset))
            np.testing.assert_allclose(phi(2 * base.scale * a), 2 * base(base.scale * a), rtol=1e-8)
            errors = phi.standard_error(2 * a), base.standard_error(a)
            np.testing.assert_allclose(errors[0], 2 * errors[1], rtol=1e-6, atol=1e-12)


# Flows of a stretched stimulus ----------------------------------------------------------------------------------------
# The loss knows <w, cX> alone, so v = c w follows the flow on X with time c^2 t: w(t) = v(c^2 t)/c from v(0) = c w(0).

N = 12
W = 0.5 * np.random.default_rng(1).normal(size=(2, N))
TIMES = np.array([0.5, 2.0, 8.0])


def stretched(task: Task, scale: float) -> Task:
    return Task([Affine(stimulus, scale) for stimulus in task.stimuli], task.labels)


def binary(short, long) -> Task:
    return Task([short, long], [0, 1])


EXACT = {
    "Gaussian, ReLU": (binary(Gaussian(N, 0.5), Gaussian(N, 1.2)), SingleReLU()),
    "elliptical, ReLU": (binary(Elliptical(N, 0.5, Shell()), Elliptical(N, 1.2, Shell())), SoftCommittee(2)),
    "Gaussian, erf": (binary(Gaussian(N, 0.5), Gaussian(N, 1.2)), SoftCommittee(2, "erf")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("scale", [1.7, -0.6])
def test_exact_flows(name, scale):
    task, network = EXACT[name]
    start = W if network.units == 1 else W[None]
    got = exact_flow(stretched(task, scale), network, start, times=TIMES, rtol=1e-9)
    base = exact_flow(task, network, scale * start, times=scale**2 * TIMES, rtol=1e-9)
    np.testing.assert_allclose(got.weights, base.weights / scale, atol=1e-7)
    np.testing.assert_allclose(got.loss, base.loss, atol=1e-8)


@pytest.mark.parametrize("size", [10, pytest.param(26, marks=pytest.mark.slow)])  # a sum over states, and a series
def test_the_exact_flow_on_spins_of_another_size(size):
    task, w0 = binary(Ising(size, 0.3), Ising(size, 0.7)), np.random.default_rng(2).normal(size=size)
    got = exact_flow(stretched(task, -1.7), SingleReLU(), w0, times=TIMES, tolerance=1.7e-2)  # of 1.7 f
    base = exact_flow(task, SingleReLU(), -1.7 * w0, times=1.7**2 * TIMES, tolerance=1e-2)
    np.testing.assert_allclose(got.weights, base.weights / -1.7, atol=1e-4)  # gates jump, met at other steps
    ends = [localized_attractor(t) for t in (stretched(task, -1.7), task)]
    np.testing.assert_allclose(ends[0].field, ends[1].field / 1.7, atol=1e-12)
    assert (ends[0].rate, ends[0].loss) == pytest.approx((1.7**2 * ends[1].rate, ends[1].loss))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.7, -0.6])
def test_the_effective_flow(scale):
    task = binary(NLGP(N, 0.5, 3), NLGP(N, 1.2, 3))
    got = effective_flow(stretched(task, scale), W, times=TIMES, rtol=1e-9)
    base = effective_flow(task, scale * W, times=scale**2 * TIMES, rtol=1e-9)
    np.testing.assert_allclose(got.weights, base.weights / scale, atol=1e-7)
    np.testing.assert_allclose(got.loss, base.loss, atol=1e-8)
    np.testing.assert_allclose(flat_growth_rates(stretched(task, scale)), scale**2 * flat_growth_rates(task), rtol=1e-9)


def test_waves_of_a_stretched_gaussian():
    task = EXACT["elliptical, ReLU"][0]
    got, base = mode_fixed_points(stretched(task, -2.0)), mode_fixed_points(task)
    np.testing.assert_allclose(got.amplitude, base.amplitude / 2, atol=1e-12)
    np.testing.assert_allclose(got.growth, 4 * base.growth, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inner", [Ising(8, 0.6), Ising(26, 0.6), SinglePulse(16, 2, 4, (0, 1)), NLGP(10, 1, 3)], ids=lambda s: str(s.size)
)
def test_what_a_gate_sees_of_a_stretched_stimulus(inner):
    """E[1(<w,cX> >= 0) cX] = c E[1(<c w,X> >= 0) X], also where X is not symmetric."""
    w = np.eye(inner.size)[2] if isinstance(inner, NLGP) else np.random.default_rng(0).normal(size=inner.size)
    for scale in (2.5, -2.5):
        got = mean_gated_input(Affine(Affine(inner, scale / 2), 2), w)
        base = mean_gated_input(inner, np.sign(scale) * w)
        np.testing.assert_allclose(got.value, scale * base.value, atol=1e-12)
        np.testing.assert_allclose(got.standard_error, abs(scale) * base.standard_error, atol=1e-12)


def test_what_a_gate_sees_of_a_moved_law_of_few_states():
    """Every state by hand, with an offset: then the gate is no symmetric one."""
    inner, w = Ising(6, 0.4), np.random.default_rng(0).normal(size=6)
    x = hypercube_states(6)
    chance = np.exp(0.4 * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    moved = 0.5 - 2 * x
    truth = (chance / chance.sum() * (moved @ w >= 0)) @ moved
    np.testing.assert_allclose(mean_gated_input(Affine(inner, -2, 0.5), w).value, truth, atol=1e-12)


def test_what_an_offset_takes_away():
    spins, ellipse = Ising(6, 0.4), Elliptical(6, 0.5, Shell())
    assert Affine(spins, -1).ising_coupling() == 0.4
    assert Affine(spins, 2).ising_coupling() is None
    assert Affine(spins, 1, 1).ising_coupling() is None
    assert Affine(ellipse, -2).elliptical_constant() == ellipse.elliptical_constant()
    assert Affine(ellipse, 1, 1).elliptical_constant() is None
    assert Affine(ellipse, -2).sign_symmetric
    assert not Affine(ellipse, 1, 1).sign_symmetric
    back = Affine(Affine(Gaussian(6, 0.5), 2, 1), 1, -1)  # a centred Gaussian after all
    assert back.elliptical_constant() == pytest.approx(np.sqrt(2 / np.pi))


def test_bernoulli_pixels_stay_a_hypercube():
    assert np.array_equal(Affine(Copula(6, Exponential(1), Bernoulli()), -1).marginal.atoms()[0], [-1, 1])


# Open ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("inner", "size"), [(NLGP(11, 1, 3), 5), (Gaussian((5, 6), 0.5), (3, 4))])
def test_the_covariance_of_a_piece_is_a_block(inner, size):
    piece = Window(inner, size)
    index = np.arange(np.prod(inner.shape)).reshape(inner.shape)[tuple(slice(s) for s in piece.shape)].ravel()
    block = matrix(inner.covariance())[np.ix_(index, index)]
    np.testing.assert_allclose(piece.covariance_matrix(), block, atol=1e-12)
    np.testing.assert_allclose(piece.covariance().ravel(), block[0], atol=1e-12)
    np.testing.assert_allclose(Window(Affine(piece, 2), size).covariance_matrix(), 4 * block, atol=1e-12)
    assert not piece.shift_invariant
    assert piece.sign_symmetric


def by_scipy(velocity, w0, times):
    return integrate.solve_ivp(velocity, (0, times[-1]), w0, "DOP853", times, rtol=1e-10, atol=1e-12).y.T


@pytest.mark.slow
def test_the_exact_flow_on_pieces_of_gaussians():
    """dw/dt = S1 w/sqrt(2 pi w S1 w) - (S0 + S1) w/2 with dense S."""
    task = binary(Window(Gaussian(30, 1), 9), Window(Gaussian(30, 2), 9))
    s0, s1 = (matrix(s.stimulus.covariance())[:9, :9] for s in task.stimuli)
    truth = by_scipy(lambda _, w: s1 @ w / np.sqrt(2 * np.pi * (w @ s1 @ w)) - (s0 + s1) @ w / 2, w0 := W[0, :9], TIMES)
    got = exact_flow(task, SingleReLU(), w0, times=TIMES, rtol=1e-9)
    np.testing.assert_allclose(got.weights[0, :, 0], truth, atol=1e-7)
    np.testing.assert_allclose(effective_flow(task, w0, times=TIMES, rtol=1e-9).weights[0, :, 0], truth, atol=1e-7)


@pytest.mark.slow
def test_the_effective_flow_on_pieces():
    """Eq. 5 with dense S and the amplifier of the whole ring's pixels."""
    task = binary(Window(NLGP(30, 1, 3), 9), Window(NLGP(30, 2, 3), 9))
    phi = amplifier(NLGP(30, 2, 3))
    s0, s1 = (matrix(s.stimulus.covariance())[:9, :9] for s in task.stimuli)
    truth = by_scipy(lambda _, w: phi(s1 @ w / np.sqrt(w @ s1 @ w)) / 2 - (s0 + s1) @ w / 2, w0 := W[0, :9], TIMES)
    got = effective_flow(task, w0, times=TIMES, rtol=1e-9)
    np.testing.assert_allclose(got.weights[0, :, 0], truth, atol=1e-6)  # the amplifier's table, 1e-8, over 8 time units


@pytest.mark.slow
def test_the_exact_flow_on_pieces_of_spins():
    """Against Euler's method on a sum over all states of the ring; its error is of the order of its step."""
    task = binary(Window(Ising(10, 0.3), 6), Window(Ising(10, 0.7), 6))
    x, w = hypercube_states(10), W[0, :6].copy()
    chance = np.exp([j * np.sum(x * np.roll(x, 1, axis=1), axis=1) for j in (0.3, 0.7)])
    chance /= chance.sum(1, keepdims=True)
    s = np.einsum("cs,sp,sq->pq", chance / 2, x[:, :6], x[:, :6])
    got = exact_flow(task, SingleReLU(), w, times=[2.0]).final[0, 0]
    for _ in range(20_000):
        w = w + 1e-4 * ((chance[1] * (x[:, :6] @ w >= 0)) @ x[:, :6] - s @ w)
    np.testing.assert_allclose(got, w, atol=1e-3)


@pytest.mark.slow
def test_what_a_gate_sees_of_a_piece_of_an_ellipse():
    piece, w = Window(Elliptical(20, 2, RadialStudentT(5)), 7), W[0, :7]
    x = np.asarray(piece.sample(KEY, 100_000), float)
    assert_within(x * (x @ w >= 0)[:, None], mean_gated_input(piece, w).value)


def test_localized_fields_on_pieces():
    """Where one weight decides the gate, f = S e/2: sum p S w = sum p y S e, with dense S."""
    task = binary(Window(Ising(20, 0.2), 6), Window(BlockPulse(20, 4), 6))
    found = localized_attractor(task, 2)
    s0, s1 = (s.covariance_matrix() for s in task.stimuli)
    np.testing.assert_allclose((s0 + s1) @ found.field, s1[2], atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_odd_moments_of_a_random_scale_see_where_the_mean_is_crossed(scale):
    """Against a sum over factors so dense that the kink is worth 1e-9."""
    z = np.linspace(-10, 10, 200_001)
    weights, factors = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum(), np.exp(0.4 * z - 0.16)
    law = RandomScale(Affine(SinglePulse(3, 1, 1, (0, 1), False), scale, -0.2), 0.4).marginal
    values = scale * np.array([0, 0, 1.0]) - 0.2
    for order in (1, 3):
        each = [weights @ np.abs(factors * value - law.mean()) ** order for value in values]
        wanted = np.mean(each) / law.variance() ** (order / 2)
        assert law.standard_moment(order) == pytest.approx(wanted, rel=1e-7)
