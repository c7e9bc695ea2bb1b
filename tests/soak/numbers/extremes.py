"""Settings at the ends of what is accepted, and beyond: right against a limit that is known, or refused in one line."""

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import scipy

import localax as lx
from localax._errors import SettingError
from soak.numbers.rows import Case, Row, apart

SLOPE = math.sqrt(2 / math.pi)
HUGE = 1e300


def _refused(make: Callable[[], Any]) -> bool:
    try:
        make()
    except SettingError as error:
        return _in_one_line(error)
    return False


def _in_one_line(error: SettingError) -> bool:
    return "\n" not in str(error)


# Laws of a pixel ----------------------------------------------------------------------------------------------------


def gain(g: float) -> float:
    """Kurtosis, covariance and amplifier of erf(g z): those of a Gaussian at small g, of signs at large g."""
    law, r = lx.stimuli.Erf(g), np.array([-0.9, -0.2, 0.0, 0.5, 1.0])
    share = 2 * g * g / (1 + 2 * g * g)
    wanted = np.arcsin(share * r) / np.arcsin(share)
    found = [apart(law.correlation(r), wanted, 1e-12), apart(law.correlation(np.ones(1)), [1.0], 1e-12)]
    near = (g * g + 1e-12) if g < 1 else 1 / g + 1e-6  # kurtosis leaves its limit as 8 g^2 and as 1.2/g
    limit = (0.0, SLOPE * 0.5) if g < 1 else (-2.0, math.erf(math.sqrt(1 / 6)))
    if not 0.03 < g < 30:
        phi = float(np.asarray(lx.theory.amplifier(law)(0.5)))
        found += [apart(law.excess_kurtosis(), limit[0], 10 * near), apart(phi, limit[1], 10 * near)]
    return max(found)


def samples(make: Callable[[], Any]) -> float:
    """Finite, and of the variance stated to six standard errors, where the fourth moment is small enough for those."""
    stimulus = make()
    x = np.asarray(stimulus.sample(jax.random.key(0), 4000), float).reshape(4000, -1)
    variances = np.ravel(stimulus.pixel_variances())
    kurtosis = stimulus.marginal.excess_kurtosis()
    assert np.all(np.isfinite(x))
    assert np.all(np.isfinite(variances))
    if not kurtosis < 50:
        return 0.0
    square = (x - stimulus.mean().ravel()) ** 2
    error = square.std(0) / math.sqrt(len(x))
    return float(np.max(np.abs(square.mean(0) - variances) / (6 * error + 1e-4 * variances)))


def exponent(k: float) -> float:
    """Kur: the kurtosis by direct integration of its quantile function, uniform at large k."""
    law = lx.stimuli.Algebraic(k)
    if k <= 4:
        return apart(law.excess_kurtosis(), math.inf, 1.0)

    def moment(order: int) -> float:
        # The quantile function u/(1 - u^k)^(1/k), with u = 1 - e^-s so that its pole is far away.
        u = lambda s: -np.expm1(-s)  # noqa: E731
        value = lambda s: (u(s) * (-np.expm1(k * np.log1p(-np.exp(-s)))) ** (-1 / k)) ** order * np.exp(-s)  # noqa: E731
        return scipy.integrate.quad(value, 0, 700, limit=2000, points=(0.01, 1, 10, 50))[0]

    return apart(law.excess_kurtosis(), moment(4) / moment(2) ** 2 - 3, 1e-6)


def degrees(df: float) -> float:
    """Student's t: variance 1 per pixel, E|X|/sd in closed form, a Gaussian at many degrees."""
    radial = lx.stimuli.RadialStudentT(df)
    wanted = 2 * math.sqrt(df - 2) * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) if df < 1e4 else None
    constant = lx.stimuli.Elliptical(8, 1, radial).elliptical_constant()
    truth = wanted / ((df - 1) * math.sqrt(math.pi)) if wanted else SLOPE * (1 - 0.25 / df)
    return max(apart(radial.moment(2, 8) * (df - 2) / df, 8.0, 2e-9), apart(constant, truth, 1e-9))


# Correlations -------------------------------------------------------------------------------------------------------


def lengthscale(kind: str, size: Any, ratio: float) -> float:
    """White at a hundredth of a pixel; at 10 rings a constant, or refused where the kernel is no covariance."""
    longest = ratio if ratio < 1 else ratio * max(np.atleast_1d(size))
    covariance = getattr(lx.stimuli, kind)
    extra = (4.0,) if kind == "CosineModulated" else ()

    def make() -> Any:
        return lx.stimuli.Copula(size, covariance(longest, *extra), lx.stimuli.Erf(3.0))

    if ratio >= 1 and kind in ("SquaredExponential", "CosineModulated") and _refused(make):
        return 0.0
    row = np.asarray(make().latent.row)
    if ratio < 1:
        return apart(row, np.eye(row.size)[0].reshape(row.shape), 1e-12)
    if kind == "CosineModulated":
        return samples(make)
    least = math.exp(-1 / ratio) if kind == "Exponential" else 1 - row.ndim / ratio**2
    return float(np.max(1 - row)) / (1 - least**row.ndim + 1e-9)


# A whole task -------------------------------------------------------------------------------------------------------


def _stimuli() -> dict[str, Callable[[], Any]]:
    """Class 1 of a task of 6 pixels at one extreme each."""
    s = lx.stimuli

    def copula(lengthscale: float, marginal: Any) -> Any:
        return s.Copula(6, s.PeriodicSquaredExponential(lengthscale), marginal)

    found: dict[str, Callable[[], Any]] = {}
    for g in (HUGE, 1e31, 1e30, 1e6, 1e-6, 1e-30, 1e-31, 1 / HUGE):
        found[f"NLGP gain {g:g}"] = lambda g=g: s.NLGP(6, 0.9, g)
    for k in (2 + 1e-9, 2.001, 4.0, 1e3, 1e12, HUGE):
        found[f"Kur k {k!r}"] = lambda k=k: s.Kur(6, 0.9, k)
    for l in (1 / HUGE, 0.01, 60.0, HUGE):
        found[f"lengthscale {l:g}"] = lambda l=l: copula(l, s.Erf(3.0))
        found[f"lengthscale {l:g}, signs"] = lambda l=l: copula(l, s.Bernoulli())
        found[f"lengthscale {l:g}, Gaussian"] = lambda l=l: copula(l, s.Normal())
    for j in (-100.0, -19.0, -1 / HUGE, 0.0, 10.0, 100.0):
        found[f"Ising {j:g}"] = lambda j=j: s.Ising(6, j)
        found[f"odd Ising {j:g}"] = lambda j=j: s.Ising(7, j)
    for df in (2 + 1e-9, 2.001, 1e6, 1e12, HUGE):
        found[f"Elliptical df {df!r}"] = lambda df=df: s.Elliptical(6, 0.9, s.RadialStudentT(df))
        found[f"StudentT df {df!r}"] = lambda df=df: copula(0.9, s.StudentT(df))
    for shape in (0.25, 100.0):
        found[f"GeneralizedNormal {shape:g}"] = lambda shape=shape: copula(0.9, s.GeneralizedNormal(shape))
    for scale, offset in itertools.product((HUGE, 1e15, 1e-15, 1 / HUGE), (0.0, 1e-3, 1e9)):
        found[f"Affine {scale:g} {offset:g}"] = lambda a=scale, b=offset: s.Affine(s.NLGP(6, 0.9, 3), a, b)
    for centre, surround, balance in itertools.product((1e-6, 1.0, 1e6), (1e-6, 1e6), (0.0, 1.0, 2.0)):
        kernel = (centre, surround, balance)
        found[f"CentreSurround {kernel}"] = lambda c=kernel: s.Filtered(s.Ising(6, 0.5), s.CentreSurround(*c))
    for spread in (0.0, 1e-9, 2.0):
        found[f"RandomScale {spread:g}"] = lambda spread=spread: s.RandomScale(s.NLGP(6, 0.9, 3), spread)
    for top in (HUGE, 1e30, 1e15, 1e-15, 1e-40):
        data = np.random.default_rng(0).uniform(-1, 1, (300, 6))
        found[f"Empirical {top:g}"] = lambda top=top, x=data: s.Empirical(top * x / np.abs(x).max())
    return found


QUESTIONS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "growth rates": lambda task, _: lx.theory.flat_growth_rates(task),
    "exact rates": lambda task, _: lx.theory.exact_growth_rates(task, samples=2**10).value,
    "effective flow": lambda task, w: lx.theory.effective_flow(task, w, times=[0, 1.0]).weights,
    "exact flow": lambda task, w: lx.theory.exact_flow(task, lx.networks.SingleReLU(), w, times=[0, 1.0]).weights,
    "gate": lambda task, w: lx.theory.mean_gated_input(task.stimuli[1], w).value,
    "objective": lambda task, w: lx.theory.objective(task, w).value,
    "amplifier": lambda task, _: np.asarray(lx.theory.amplifier(task.stimuli[1])(np.linspace(-1, 1, 5))),
    "stable rate": lambda task, _: lx.training.stable_rate(task, lx.networks.SingleReLU()),
    "samples": lambda task, _: samples(lambda: task.stimuli[1]),
}
"""What is asked of a task at a field."""


def answered(name: str, question: str) -> float:
    """A finite answer or a line of refusal; no NaN, no other exception, no warning of numpy's on the way.

    Rates at gains at which a sum of pixels has no density are known to mean nothing; they say so by their error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            stimulus = _stimuli()[name]()
            task = lx.Task([lx.stimuli.Affine(stimulus, 0.5), stimulus], [0, 1])
            value = QUESTIONS[question](task, np.random.default_rng(0).normal(size=task.shape))
        except SettingError as error:
            return 0.0 if _in_one_line(error) else math.nan
    if question == "samples":
        return float(value)
    return 0.0 if np.all(np.isfinite(np.asarray(value, float))) else math.nan


def _answered() -> list[Case]:
    return [
        Case(f"{question} at {name}", lambda n=name, q=question: answered(n, q))
        for question, name in itertools.product(QUESTIONS, _stimuli())
    ]


def stability(kind: str, ratio: float) -> float:
    """Gradient descent at a share of the stable rate, from far away: it comes back below it, and grows above it.

    On sign-symmetric data half of E[x x'] goes through any gate: in the top mode w' = (1 - rate l) w + rate f, where f
    has one size whatever that of w. So a large w shrinks or grows by 1 - rate l; a small one may stay small above the
    stable rate too, without settling.
    """
    s = lx.stimuli
    stimuli = {
        "Ising": [s.Ising(8, 0.3), s.Ising(8, 1.0)],
        "NLGP": [s.NLGP(8, 0.5, 3), s.NLGP(8, 1, 3)],
        "Elliptical": [s.Elliptical(8, 0.5, s.Surface()), s.Elliptical(8, 1, s.Surface())],
    }[kind]
    task, network = lx.Task(stimuli, [0, 1]), lx.networks.SingleReLU()
    limit = lx.training.stable_rate(task, network)
    assert limit is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        path = lx.train(
            task, network, steps=400, batch=64, rate=ratio * limit, estimator="orbit", progress=False,
            init=lx.networks.Isotropic(100.0), saveat=lx.training.SaveAt(every=400, record=()),
        )  # fmt: skip
    assert np.all(np.isfinite(path.weights))
    first, last = np.max(np.abs(path.weights[0, 0])), np.max(np.abs(path.weights[0, -1]))
    grown = path.status[0].startswith("diverged") or last > first
    return float(grown != (ratio > 1)) * 2


ENDS = (1e-30, 1e-10, 1e-6, 1e-3, 0.02, 0.5, 3.0, 50.0, 1e3, 1e6, 1e30)
KINDS = ("SquaredExponential", "PeriodicSquaredExponential", "Exponential", "CosineModulated")


def _of(check: Any, *axes: Any) -> list[Case]:
    return [Case(str(values), lambda v=values: check(*v)) for values in itertools.product(*axes)]


ROWS = [
    Row("extreme: gain", lambda: _of(gain, ENDS)),
    Row("extreme: k", lambda: _of(exponent, (2 + 1e-9, 2.5, 4.0, 4.2, 5.89, 30.0, 1e3, 1e6, 1e12))),
    Row("extreme: degrees", lambda: _of(degrees, (2.001, 2.5, 4.0, 30.0, 1e3, 1e5, 1e8, 1e10, 1e12))),
    Row("extreme: lengthscale", lambda: _of(lengthscale, KINDS, (2, 3, 8, 9, (2, 2), (2, 9), (5, 4)), (0.01, 10.0))),
    Row("extreme: questions", _answered),
    Row("extreme: stability", lambda: _of(stability, ("Ising", "NLGP", "Elliptical"), (0.5, 0.9, 1.1, 2.0))),
]
