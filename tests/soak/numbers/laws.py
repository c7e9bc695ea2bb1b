"""What a stimulus says of itself, what it samples and what a gate sees of it, against all of its states."""

import math
from collections.abc import Callable

import jax
import numpy as np
import scipy

import localax as lx
from localax._errors import SettingError
from soak.numbers import truth
from soak.numbers.finite import Law, laws
from soak.numbers.rows import SIGMAS, Case, Row, apart, sampled

EXACT = 1e-9
"""Float64 sums over at most 10^5 states, and quadrature of Genz's error where the truth is one."""
GENZ = 1e-4
DRAWS = 20_000
NEAR = 1e-4
"""A sample in float32 is this near to its state, and states are farther from each other."""


def _tolerance(law: Law) -> float:
    return GENZ if law.name.startswith("signs") else EXACT


def _directions(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(12, n)) * 1.5


# Statements -------------------------------------------------------------------------------------------------------


def statements(law: Law) -> float:
    """Mean, covariance, symmetries, states: everything that is exact."""
    s, states = law.stimulus(), law.states()
    matrix, tolerance = truth.covariance(states), _tolerance(law)
    k = _directions(states[0].shape[1])
    found = [
        apart(s.mean(), truth.mean(states), tolerance),
        apart(s.covariance_matrix(), matrix, tolerance),
        apart(s.covariance(), matrix[0], tolerance),
        apart(s.pixel_variances(), np.diag(matrix), tolerance),
    ]
    here = truth.waves(states, k)
    if s.shift_invariant:
        found.append(apart(np.abs(truth.waves(states, np.roll(k, 1, axis=1)) - here), 0 * here.real, tolerance))
    if s.sign_symmetric:
        found.append(apart(here.imag, 0 * here.imag, tolerance))
    listed = s.support()
    if listed is not None:
        found.append(apart(np.abs(truth.waves((listed.states, listed.probabilities), k) - here), 0 * here.real, EXACT))
    signs = s.sign_correlation()
    if signs is not None:
        up = np.sign(states[0])
        found.append(apart(signs, (states[1] * up[:, 0]) @ up, tolerance))
    response = s.one_pixel_input() if s.shift_invariant else None
    if response is not None:
        found.append(apart(response, truth.gated(states, np.eye(len(matrix))[0]), tolerance))
    return max(found)


def marginal(law: Law) -> float:
    """Moments of one pixel, each as likely, and its distribution function between the atoms."""
    one, (states, chances) = law.stimulus().marginal, law.states()
    x, p = states.ravel(), np.repeat(chances / states.shape[1], states.shape[1])
    mean, n = float(p @ x), one.draws()
    variance = float(p @ (x - mean) ** 2)
    sizes = {order: float(p @ np.abs(x - mean) ** order) / variance ** (order / 2) for order in (1, 4, 6, 8)}
    noise = {1: 1.0, 4: math.sqrt(sizes[8]), 6: 6 * sizes[6]} if np.isfinite(n) else {1: 0.0, 4: 0.0, 6: 0.0}
    allowed = _tolerance(law) * (1 if law.listed else 10)
    found = [
        apart(one.mean(), mean, allowed + SIGMAS * math.sqrt(variance / n)),
        apart(one.variance(), variance, allowed + SIGMAS * variance * math.sqrt(sizes[4] / n)),
        apart(one.excess_kurtosis(), sizes[4] - 3, 10 * allowed + SIGMAS * noise[4] * 4 / math.sqrt(n)),
        apart(one.standard_moment(6), sizes[6], 100 * allowed + SIGMAS * noise[6] * 6 / math.sqrt(n)),
    ]
    # The nodes of a random scale do not see a kink beside 0; tests/test_derived.py does.
    if law.listed or abs(mean) < 1e-9:
        found.append(apart(one.standard_moment(1), sizes[1], allowed + SIGMAS * noise[1] / math.sqrt(n)))
    if law.listed:
        atoms = np.unique(np.round(x, 6))
        between = (atoms[1:] + atoms[:-1]) / 2
        below = np.array([p[x < b].sum() for b in between])
        found.append(apart(one.cdf(between), below, allowed + SIGMAS * 0.5 / math.sqrt(n)))
    return max(found)


# Samples ----------------------------------------------------------------------------------------------------------


def samples(law: Law) -> float:
    """Each sample is a state, each state comes as often as it should, and waves have the mean they should."""
    states, k = law.states(), _directions(law.states()[0].shape[1])
    x = np.asarray(law.stimulus().sample(jax.random.key(1), DRAWS), float)
    phases = np.exp(1j * x @ k.T)
    here = truth.waves(states, k)
    found = [sampled(phases.real, here.real, 1e-5), sampled(phases.imag, here.imag, 1e-5)]
    return max([*found, _frequencies(x, states)] if law.listed else found)


def _frequencies(x: np.ndarray, law: truth.States) -> float:
    """The binomial chance of a count as far off, as a normal deviate over six."""
    kinds, which = np.unique(np.round(law[0], 6), axis=0, return_inverse=True)
    p = np.bincount(which.ravel(), law[1])
    apart_by, nearest = scipy.spatial.cKDTree(kinds).query(x)
    if np.max(apart_by) > NEAR:
        return math.inf
    count = np.bincount(nearest, minlength=len(kinds))
    rare = np.minimum(scipy.stats.binom.cdf(count, len(x), p), scipy.stats.binom.sf(count - 1, len(x), p))
    return float(np.max(-scipy.stats.norm.ppf(np.minimum(2 * rare, 1) / 2)) / SIGMAS)


# Gates ------------------------------------------------------------------------------------------------------------


def _fields(n: int) -> np.ndarray:
    """Random ones, a flat one and one of whole numbers, both with ties, and single pixels of either sign."""
    rng = np.random.default_rng(n)
    whole = rng.integers(-2, 3, size=n).astype(float)
    whole[0] = whole[0] or 1.0
    return np.stack([*rng.normal(size=(3, n)), np.ones(n), whole, np.eye(n)[0], -np.eye(n)[n - 1]])


def gates(law: Law) -> float:
    """f(w) where it has an exact form, and where it has none from samples; field by field."""
    states, errors = law.states(), []
    for w in _fields(states[0].shape[1]):
        try:
            found = lx.theory.mean_gated_input(law.stimulus(), w)
            errors.append(apart(found.value, truth.gated(states, w), _tolerance(law)))
        except SettingError:
            found = lx.theory.mean_gated_input(law.stimulus(), w, method="sampled", samples=DRAWS)
            allowed = SIGMAS * found.standard_error + _tolerance(law)
            errors.append(float(np.max(np.abs(found.value - truth.gated(states, w)) / allowed)))
    return max(errors)


def objectives(law: Law) -> float:
    """J, the loss at the best height and that height, for labels 0 and 1 on a law and on half of it, or a refusal."""
    task = lx.Task([lx.stimuli.Affine(law.stimulus(), 0.5), law.stimulus()], [0, 1])
    (states, chances), errors = law.states(), []
    for w in _fields(states.shape[1])[:3]:
        relu = np.maximum(states @ w, 0)
        drive, power = chances @ relu / 2, chances @ relu**2 * (1 + 0.25) / 2
        try:
            found = lx.theory.objective(task, w)
        except SettingError as refusal:
            if "no exact form is known" not in str(refusal):
                raise
            continue
        truths = 2 * drive / math.sqrt(power), 0.5 - drive**2 / power, drive / power
        errors += [apart(f, t, EXACT) for f, t in zip((found.value, found.loss, found.height), truths, strict=True)]
    return max(errors, default=0.0)


def _cases(check: Callable[[Law], float], want: Callable[[Law], bool] = lambda _: True) -> Callable[[], list[Case]]:
    return lambda: [Case(law.name, lambda law=law: check(law)) for law in laws() if want(law)]


ROWS = [
    Row("law: statements", _cases(statements)),
    Row("law: marginal", _cases(marginal)),
    Row("law: samples", _cases(samples)),
    Row("law: gates", _cases(gates)),
    Row("law: objective", _cases(objectives, lambda law: not law.name.startswith("signs"))),
]
