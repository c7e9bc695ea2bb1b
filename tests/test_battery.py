"""One battery for every stimulus in the package; that it can fail; and that somebody's own stimulus passes."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import STATEMENTS, construct, drawn, run_items, statements
from localax.stimuli import (
    ALL,
    COVARIANCES,
    EXAMPLES,
    MARGINALS,
    NLGP,
    RADIALS,
    AbstractCovariance,
    AbstractMarginal,
    AbstractNormalMap,
    AbstractStimulus,
    Algebraic,
    Copula,
    CosineModulated,
    Elliptical,
    Empirical,
    Exponential,
    Filtered,
    Gaussian,
    GaussianClone,
    GeneralizedNormal,
    Ising,
    Kur,
    Normal,
    Radial,
    RadialStudentT,
    Shell,
    StudentT,
    Surface,
    Uniform,
    check_stimulus,
)
from localax.stimuli._battery import ITEMS
from localax.stimuli._normal_maps import Bernoulli

names = {"ids": lambda value: getattr(value, "__name__", None)}


# What the package says of itself --------------------------------------------------------------------------------------


SIZE, SAMPLES = 40, 10_000
"""Everywhere the same, so that what is compiled for a class serves all of its settings."""


QUICK = (Ising,)
"""The others compile as long."""


@pytest.mark.parametrize("cls", [pytest.param(c, marks=[pytest.mark.slow] * (c not in QUICK)) for c in ALL], **names)
def test_the_whole_battery_on_every_stimulus_in_all(cls):
    for stimulus in EXAMPLES[cls](SIZE):
        report = check_stimulus(stimulus, n=SAMPLES, seed=1)
        assert report.ok, report
        assert len(report.items) == len(ITEMS)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [c for c in ALL if c is not Empirical], **names)
@settings(max_examples=2)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_every_stimulus_at_any_setting(cls, data, seed):
    report = statements(drawn(data, cls, SIZE), SAMPLES, seed)
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("cls", MARGINALS, **names)
@settings(max_examples=2)
@given(data=st.data())
def test_every_marginal_behind_a_copula(cls, data):
    report = statements(Copula(SIZE, Exponential(2), drawn(data, cls)), SAMPLES)
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("cls", COVARIANCES, **names)
@settings(max_examples=3)
@given(data=st.data())
def test_every_covariance_behind_a_copula(cls, data):
    covariance = drawn(data, cls)
    size = data.draw(st.sampled_from([40, 200, (7, 8)]))
    report = statements(construct(Copula, size=size, covariance=covariance, marginal=Uniform()), n=2000)
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("cls", RADIALS, **names)
@settings(max_examples=1)
@given(data=st.data())
def test_every_radius(cls, data):
    report = statements(Elliptical(SIZE, 2, drawn(data, cls)), SAMPLES)
    assert report.ok, report


TORI = [
    NLGP((6, 9), 1.2, 3), Kur((6, 9), 1.2, 4), Elliptical((6, 9), 1.2, Surface()),
    Copula((9, 6), CosineModulated(1, 3), Bernoulli()), Gaussian((2, 2), 0.5), Gaussian((130, 3), 0.5),
    GaussianClone(NLGP((6, 9), 1.2, 3)), Filtered(NLGP((6, 9), 1, 3), [[0, 1, 0], [1, -4, 1], [0, 1, 0]]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("stimulus", TORI, ids=lambda s: f"{type(s).__name__}{s.size}".replace(" ", ""))
def test_on_a_torus(stimulus):
    report = statements(stimulus, n=3000)
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize(
    "stimulus",
    [
        Copula(SIZE, Exponential(2), StudentT(2.05)),
        Copula(SIZE, Exponential(2), Algebraic(2.05)),
        Copula(SIZE, Exponential(2), GeneralizedNormal(0.25)),
        Elliptical(SIZE, 2, RadialStudentT(2.05)),
        Elliptical(SIZE, 2, Radial(lambda q: q**-0.45)),
    ],
    ids=["t", "kur", "generalized normal", "elliptical t", "elliptical power"],
)
def test_the_heaviest_tails_stay_finite(stimulus):
    report = run_items(stimulus, {"finite in 10^7 draws", *STATEMENTS}, SAMPLES)
    assert report.ok, report


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("stimulus", [Kur(20, 1, 5), Elliptical(20, 1, Shell())])
def test_float64_samples_have_the_same_law(stimulus):
    x = np.asarray(stimulus.sample(jax.random.key(0), 5000, dtype=jnp.float64)).reshape(5000, -1)
    products = x[:, :1] * x
    gap = np.abs(products.mean(0) - stimulus.covariance().ravel())
    assert np.all(gap <= 6 * products.std(0) / math.sqrt(5000))
    assert np.mean(x != x.astype(np.float32)) > 0.9  # and digits that float32 has not


# The battery can fail -------------------------------------------------------------------------------------------------


class Liar(AbstractStimulus):
    """A Gaussian field that does one thing other than it says."""

    size: int = eqx.field(static=True)
    lie: str = eqx.field(static=True)
    truth: Gaussian

    def __init__(self, lie: str, size: int = 21):
        self.size, self.lie = size, lie
        self.truth = Gaussian(size, 0.1 if lie == "not sign symmetric" else 1.5)

    def draw(self, key, n, dtype):
        if self.lie == "ignores its key":
            key = jax.random.key(0)
        if self.lie == "float32 depends on x64":
            key = jax.random.fold_in(key, jnp.asarray(1.0).dtype.itemsize)
        x = self.truth.draw(key, n, dtype)
        if self.lie == "wrong mean":
            return x + 0.03  # twelve standard errors of the mean, half of what the marginal's test would see
        if self.lie == "not shift invariant":
            swell = 0.4 * np.cos(2 * np.pi * np.arange(self.size) / self.size)
            return x * jnp.asarray(np.sqrt(1 + swell), dtype)
        if self.lie == "not sign symmetric":
            # Flip a sample by the sign of its mean product of three pixels. Of 21 independent pixels some can change
            # sign and leave every such product alone (1 + x + x^3 divides x^7 - 1), so mean and marginal are honest.
            product = x * jnp.roll(x, 1, axis=1) * jnp.roll(x, 3, axis=1)
            return x * jnp.sign(product.mean(axis=1, keepdims=True))
        if self.lie == "rarely NaN":
            rare = jax.random.uniform(jax.random.fold_in(key, 3), x.shape, jnp.float32) < 1e-6
            return jnp.where(rare, jnp.nan, x)
        if self.lie == "wrong type":
            return x.astype(jnp.float16)
        if self.lie == "float64 is infinite" and dtype == jnp.float64:
            return x / 0
        if self.lie == "wrong shape":
            return x[:, 1:]
        if self.lie == "fails":
            raise RuntimeError("no samples today\nnor tomorrow")
        if self.lie == "wrong marginal":
            return Uniform().from_normal(x)
        return x

    def covariance(self):
        row = self.truth.covariance()
        if self.lie == "wrong covariance":
            return Gaussian(self.size, 1.6).covariance()
        if self.lie == "wrong scale":
            return 1.1 * row
        return Uniform().correlation(row) if self.lie == "wrong marginal" else row

    @property
    def marginal(self):
        if self.lie == "no marginal":
            raise AttributeError("forgotten")
        return Normal()


CAUGHT = {
    "wrong covariance": {"covariance"},
    "wrong scale": {"covariance", "moments of the marginal"},
    "wrong marginal": {"marginal"},
    "wrong mean": {"mean", "sign symmetry"},
    "not shift invariant": {"translation invariance"},
    "rarely NaN": {"finite in 10^7 draws"},
    "ignores its key": {"same key same bits"},
    "float32 depends on x64": {"float32 and float64"},
    "float64 is infinite": {"float32 and float64"},
    "wrong type": {"shape and type", "float32 and float64"},
    "no marginal": {"covariance", "marginal", "moments of the marginal"},
    "not sign symmetric": {"sign symmetry"},
    "wrong shape": {"shape and type", "mean", "covariance", "translation invariance"},
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", CAUGHT)
def test_a_stimulus_that_lies_is_caught_by_the_right_item(lie):
    report = run_items(Liar(lie), {*STATEMENTS, *CAUGHT[lie]}, n=20_000)
    assert {item.name for item in report.failures} == CAUGHT[lie], report
    assert not report.ok
    assert "falls short" in str(report)
    assert all("\n" not in item.detail for item in report.items)


class Loud(AbstractNormalMap):
    """A map that breaks its promise of variance 1."""

    def from_normal(self, z):
        return z * np.asarray(1.0536, z.dtype)


def test_a_map_without_variance_1_is_caught():
    """Samples, covariance and distribution function agree; only the marginal's own variance differs from them."""
    report = statements(Copula(12, Triangle(4.0), Loud()))
    assert {item.name for item in report.failures} == {"moments of the marginal"}, report
    (item,) = report.failures
    assert item.detail == "mean 0 and variance 1, of all pixels 0 and 1.11007"


def test_a_stimulus_that_cannot_be_sampled():
    (item,) = check_stimulus(Liar("fails"), n=100).items
    assert item.name == "sampling"
    assert item.detail == "RuntimeError: no samples today"


def test_the_honest_one_passes():
    report = check_stimulus(Liar("none"), n=20_000)
    assert report.ok, report
    assert "all is well" in str(report)
    assert {item.name for item in report.items} == set(ITEMS)
    assert set(STATEMENTS) < set(ITEMS)


# Somebody's own, as a page of the documentation shows it --------------------------------------------------------------


class Wave(AbstractStimulus):
    """A cosine of random phase."""

    size: int = eqx.field(static=True)
    cycles: int = eqx.field(static=True)

    def draw(self, key, n, dtype):
        phase = jax.random.uniform(key, (n, 1), dtype, maxval=2 * np.pi)
        position = jnp.arange(self.size, dtype=dtype) * (2 * np.pi * self.cycles / self.size)
        return np.sqrt(2).astype(dtype) * jnp.cos(position + phase)

    def covariance(self):
        return np.cos(2 * np.pi * self.cycles * np.arange(self.size) / self.size)

    @property
    def marginal(self):
        return Arcsine()


class Arcsine(AbstractMarginal):
    """One value of a cosine of random phase, variance 1."""

    def mean(self):
        return 0.0

    def variance(self):
        return 1.0

    def excess_kurtosis(self):
        return -1.5

    def cdf(self, x):
        return 0.5 + np.arcsin(np.clip(np.asarray(x) / np.sqrt(2), -1, 1)) / np.pi


class Logistic(AbstractNormalMap):
    """A logistic pixel, variance 1."""

    def from_normal(self, z):
        tail = jax.scipy.special.erfc(jnp.abs(z) / np.sqrt(2).astype(z.dtype)) / 2
        size = jnp.log1p(-tail) - jnp.log(jnp.maximum(tail, jnp.finfo(z.dtype).tiny))
        return jnp.sign(z) * size * np.asarray(np.sqrt(3) / np.pi, z.dtype)


class Triangle(AbstractCovariance):
    """Correlation that falls along a line; the product of two of them on a torus."""

    width: float = eqx.field(static=True)

    def factors(self, shape):
        return tuple(np.maximum(1 - np.minimum(np.arange(n), n - np.arange(n)) / self.width, 0.0) for n in shape)


def test_a_stimulus_of_ones_own():
    report = check_stimulus(Wave(20, 3), n=10_000)
    assert report.ok, report


@pytest.mark.slow
def test_a_marginal_and_a_covariance_of_ones_own():
    law = Logistic()
    assert law.excess_kurtosis() == pytest.approx(1.2, abs=1e-8)  # the logistic law's
    report = check_stimulus(Copula(20, Triangle(4.0), law), n=10_000)
    assert report.ok, report
    report = statements(Copula((6, 10), Triangle(3.0), law))
    assert report.ok, report


def test_ones_own_works_inside_others():
    wave = Wave(20, 3)
    for stimulus in (GaussianClone(wave), Filtered(wave, [1, 1])):
        report = statements(stimulus)
        assert report.ok, report
