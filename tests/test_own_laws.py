"""Laws written outside of the package get every closed form that their mathematics allows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import localax as lx
from helpers import matrix
from localax._math import circulant
from localax.networks import SingleReLU, SoftCommittee
from localax.stimuli import (
    AbstractMarginal,
    AbstractStimulus,
    Bernoulli,
    Elliptical,
    Gaussian,
    GaussianClone,
    Ising,
    Laplace,
    Normal,
    RadialStudentT,
    StudentT,
    Support,
)
from localax.theory import amplifier, effective_flow, exact_flow, localized_attractor, mean_gated_input
from localax.theory.steady import mode_fixed_points

N = 8
W = np.random.default_rng(0).normal(size=(2, N))


class OwnGaussian(AbstractStimulus):
    """A Gaussian ring by its covariance with pixel 0."""

    size: int = eqx.field(static=True)
    row: np.ndarray
    level: float = 0.0

    def draw(self, key, n, dtype):
        root = jnp.linalg.cholesky(circulant(jnp.asarray(self.row, dtype)))
        return jax.random.normal(key, (n, self.size), dtype) @ root.T + jnp.asarray(self.level, dtype)

    def covariance(self):
        return np.asarray(self.row)

    def mean(self):
        return np.full(self.size, self.level)

    @property
    def marginal(self):
        return Normal()

    @property
    def is_gaussian(self):
        return True

    @property
    def sign_symmetric(self):
        return self.level == 0


class OwnSpins(AbstractStimulus):
    """Any law on the hypercube that does not change with the sign, by its states."""

    size: int = eqx.field(static=True)
    states: np.ndarray
    chances: np.ndarray

    def draw(self, key, n, dtype):
        edges = jnp.cumsum(jnp.asarray(self.chances, jnp.float32))[:-1]
        return jnp.asarray(self.states, dtype)[jnp.searchsorted(edges, jax.random.uniform(key, (n,), jnp.float32))]

    def covariance(self):
        return (self.chances * self.states[:, 0]) @ self.states

    @property
    def marginal(self):
        return Bernoulli()

    def support(self):
        return Support(self.states, self.chances)


class OwnElliptical(AbstractStimulus):
    """A Student t by its Gaussian over a root of chi-square."""

    size: int = eqx.field(static=True)
    row: np.ndarray
    df: float

    def draw(self, key, n, dtype):
        above, below = jax.random.split(key)
        root, df = jnp.linalg.cholesky(circulant(jnp.asarray(self.row, dtype))), jnp.asarray(self.df, dtype)
        normals = jax.random.normal(above, (n, self.size), dtype) @ root.T
        return normals * jnp.sqrt((df - 2) / (2 * jax.random.gamma(below, df / 2, (n, 1), dtype)))

    def covariance(self):
        return self.row

    @property
    def marginal(self):
        return StudentT(self.df)

    def elliptical_constant(self):
        return 2 * integrate.quad(lambda x: x * stats.t.pdf(x, self.df), 0, np.inf)[0] * np.sqrt(1 - 2 / self.df)


class Law(AbstractMarginal):
    """A law of scipy, of which nothing but moments and distribution function is told."""

    law: object = eqx.field(static=True)

    def mean(self):
        return float(self.law.mean())

    def variance(self):
        return float(self.law.var())

    def excess_kurtosis(self):
        return float(self.law.stats("k"))

    def cdf(self, x):
        return np.asarray(self.law.cdf(x))


def spins(coupling):
    """The states of an Ising ring, by a loop."""
    x = np.array([[1.0 if s >> i & 1 else -1.0 for i in range(N)] for s in range(2**N)])
    weight = np.exp(coupling * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    return OwnSpins(N, x, weight / weight.sum())


def stripes(period):
    """A square wave of random phase."""
    x = np.array([np.where((np.arange(N) + s) % period < period // 2, 1.0, -1.0) for s in range(N)])
    return OwnSpins(N, x, np.full(N, 1 / N))


def tasks(*stimuli):
    return lx.Task(stimuli, [0.0, 1.0])


OURS = tasks(Gaussian(N, 0.5), Gaussian(N, 1.2))
OWN = tasks(*(OwnGaussian(N, s.covariance()) for s in OURS.stimuli))


@pytest.mark.slow
@pytest.mark.parametrize("stimulus", [OWN.stimuli[0], spins(0.7), stripes(4), OwnElliptical(N, np.eye(N)[0], 9.0)])
def test_own_classes_are_what_they_say(stimulus):
    report = lx.stimuli.check_stimulus(stimulus, n=5000)
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    "network", [SingleReLU(), SoftCommittee(2, "relu"), SoftCommittee(2, "erf", bias=True)], ids=str
)
def test_an_own_gaussian_has_the_exact_flows_of_ours(network):
    w0 = W[0] if network.units == 1 else W[None]
    own, ours = (exact_flow(task, network, w0, times=[0.5, 5.0]) for task in (OWN, OURS))
    np.testing.assert_allclose(own.weights, ours.weights, atol=1e-7)  # the solver's tolerance is 1e-6 of 0.1
    np.testing.assert_allclose(own.loss, ours.loss, atol=1e-9)


def test_an_own_gaussian_has_the_other_closed_forms_of_ours():
    own, ours = (effective_flow(task, W, times=[1.0, 10.0]) for task in (OWN, OURS))
    np.testing.assert_allclose(own.weights, ours.weights, atol=1e-9)
    np.testing.assert_allclose(amplifier(OWN.stimuli[0])([0.3, 0.7]), np.sqrt(2 / np.pi) * np.array([0.3, 0.7]))
    own, ours = (mean_gated_input(task.stimuli[1], W).value for task in (OWN, OURS))
    np.testing.assert_allclose(own, ours, atol=1e-12)
    own, ours = (mode_fixed_points(task) for task in (OWN, OURS))
    np.testing.assert_allclose(own.amplitude, ours.amplitude, atol=1e-9)


def test_an_own_gaussian_with_a_mean():
    """f(w) = m Phi(t) + S w/s density(t) with t = <w,m>/s, here by a sum over the two normals <w,X> and X_j."""
    own = OwnGaussian(N, Gaussian(N, 1.0).covariance(), 0.4)
    s = matrix(own.covariance())
    got = mean_gated_input(own, W[0]).value
    spread = np.sqrt(W[0] @ s @ W[0])
    for j in range(N):
        slope = (s @ W[0])[j] / spread**2  # E[X_j | h] = m + slope (h - mean h)
        centre = 0.4 * W[0].sum()

        def term(h, c=centre, k=slope):
            return (0.4 + k * (h - c)) * stats.norm.pdf(h, c, spread)

        assert abs(got[j] - integrate.quad(term, 0, centre + 12 * spread)[0]) < 1e-7
    assert own.elliptical_constant() is None
    np.testing.assert_allclose(got, mean_gated_input(GaussianClone(own), W[0]).value, atol=1e-12)


@pytest.mark.slow
def test_own_spins_have_the_exact_input_and_flow_of_the_ising_ring():
    own, ours = tasks(spins(0.3), spins(0.7)), tasks(Ising(N, 0.3), Ising(N, 0.7))
    got, expected = (mean_gated_input(task.stimuli[1], W).value for task in (own, ours))
    np.testing.assert_allclose(got, expected, atol=1e-12)
    paths = [exact_flow(task, SingleReLU(), W, times=[1.0, 30.0]) for task in (own, ours)]
    assert paths[0].settings["kind"] == "SymmetricReLU"
    np.testing.assert_allclose(paths[0].weights, paths[1].weights, atol=1e-5)  # the same jumps, met at other roundings
    ends = [localized_attractor(task) for task in (own, ours)]
    np.testing.assert_allclose(ends[0].field, ends[1].field, atol=1e-12)


def test_a_finite_law_of_any_kind_has_an_exact_flow():
    """Stripes and spins, against Euler's method on a plain sum over states; its error is of the order of its step."""
    task = tasks(spins(0.2), stripes(4))
    got = exact_flow(task, SingleReLU(), W[0], times=[2.0]).final[0, 0]
    s = np.mean([matrix(one.covariance()) for one in task.stimuli], axis=0)
    law, w = task.stimuli[1].support(), W[0].copy()
    for _ in range(20_000):
        w = w + 1e-4 * ((law.probabilities * (law.states @ w >= 0)) @ law.states - s @ w)
    np.testing.assert_allclose(got, w, atol=1e-3)


def test_stripes_have_an_attractor_although_their_covariance_is_singular():
    """Directions in which no stripe varies never move; in all others the field rests: sum p S w = sum p y S e_0."""
    task = tasks(stripes(2), stripes(4))
    found = localized_attractor(task)
    s0, s1 = (matrix(one.covariance()) for one in task.stimuli)
    assert np.linalg.matrix_rank(s0 + s1) < N
    np.testing.assert_allclose((s0 + s1) @ found.field, s1[0], atol=1e-12)
    assert found.rate == 0


def test_an_own_elliptical_law_has_the_exact_flow_of_ours():
    rows = [Gaussian(N, x).covariance() for x in (0.5, 1.2)]
    own = tasks(*(OwnElliptical(N, row, 5.0) for row in rows))
    ours = tasks(*(Elliptical(N, x, RadialStudentT(5)) for x in (0.5, 1.2)))
    paths = [exact_flow(task, SoftCommittee(2), W[None], times=[1.0, 10.0]) for task in (own, ours)]
    np.testing.assert_allclose(paths[0].weights, paths[1].weights, atol=1e-7)


# Marginals ------------------------------------------------------------------------------------------------------------

POINTS = np.array([0.01, 0.3, 0.8, 0.99])


def test_an_own_marginal_by_its_distribution_function_alone():
    """Uniform on (-c, c) about 1: phi in closed form, in units of its standard deviation."""
    phi, scale, c = amplifier(Law(stats.uniform(-1, 4))), 4 / np.sqrt(12), np.sqrt(3)
    t = POINTS / np.sqrt(2 * (1 - POINTS**2))
    rise, bend = (c**2 - 1 / (2 * t**2)) * special.erf(c * t), c * np.exp(-((c * t) ** 2)) / (t * np.sqrt(np.pi))
    truth = (rise + bend) / (2 * c)
    np.testing.assert_allclose(phi(scale * POINTS), scale * truth, atol=1e-10)
    assert abs(phi.limit - scale * c / 2) < 1e-10


@pytest.mark.parametrize(("law", "ours"), [(stats.laplace(), Laplace()), (stats.t(5), StudentT(5))])
def test_own_marginals_equal_ours(law, ours):
    """A tail of 2^-50 is left out, which for t(5) is 1e-9 of E|X|."""
    own, scale = amplifier(Law(law)), law.std()
    np.testing.assert_allclose(own(scale * POINTS) / scale, amplifier(ours)(POINTS), atol=1e-8)
    assert np.isinf(Law(stats.t(5)).standard_moment(6))
    assert abs(Law(stats.laplace()).standard_moment(6) - 90) < 1e-3  # 6!/2^3, of which the tail holds 1e-6


def test_a_skewed_marginal_is_centred():
    """An exponential law against quadrature."""
    phi = amplifier(Law(stats.expon()))
    for a in POINTS:
        t = a / np.sqrt(2 * (1 - a**2))

        def term(x, t=t):
            return (x - 1) * special.erf((x - 1) * t) * np.exp(-x)

        truth = integrate.quad(term, 0, 1, epsabs=1e-13)[0] + integrate.quad(term, 1, 60, epsabs=1e-13, limit=200)[0]
        assert abs(float(phi(a)) - truth) < 1e-9


def test_a_marginal_that_contradicts_itself_is_refused():
    class Wrong(Law):
        def mean(self):
            return 50.0

    with pytest.raises(ValueError, match="cdf must be increasing from 0 to 1, with this mean and variance"):
        amplifier(Wrong(stats.norm()))
