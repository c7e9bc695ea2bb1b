"""One battery for every stimulus, ours or somebody else's: does it do what it says of itself?

Each item compares samples with the stimulus's own exact statements within six standard errors, or checks that it
behaves under JAX. :data:`ITEMS` is the list; the tests run it on every member of ``ALL``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from .._math import circular_correlate
from .._types import Float
from ..spec import checked_count
from ._base import AbstractStimulus, checked_stimulus

SIGMAS = 6.0
RARE = math.erfc(SIGMAS / math.sqrt(2))
"""The chance of a six-sigma event, for tests that give a p-value."""

ROUNDING = 2e-5
"""Relative rounding of float32 averages."""


@dataclass(frozen=True)
class Item:
    """One thing that was checked."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """What :func:`check_stimulus` found: the name of the ``stimulus``, and the ``items`` that were checked."""

    stimulus: str
    items: tuple[Item, ...]

    @property
    def ok(self) -> bool:
        return all(item.passed for item in self.items)

    @property
    def failures(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if not item.passed)

    def __str__(self) -> str:
        rows = [f"  {'ok  ' if i.passed else 'FAIL'}  {i.name}: {i.detail}" for i in self.items]
        return "\n".join([f"{self.stimulus}: {'all is well' if self.ok else 'falls short'}", *rows])


@dataclass(frozen=True)
class _Subject:
    stimulus: AbstractStimulus
    seed: int
    x: Float[np.ndarray, "n *pixels"]

    @property
    def key(self) -> Any:
        return jax.random.key(self.seed)


def check_stimulus(stimulus: AbstractStimulus, *, n: int = 20_000, seed: int = 0) -> Report:
    """Run the battery on any ``stimulus`` and say what holds and what falls short.

    With ``n`` samples (at most 10^7 pixels), drawn from a ``seed``.
    """
    name = type(checked_stimulus("check_stimulus", stimulus)).__name__
    n = max(min(checked_count("check_stimulus", n, 100), 10_000_000 // int(np.prod(stimulus.shape))), 100)
    try:
        subject = _Subject(stimulus, seed, np.asarray(stimulus.sample(jax.random.key(seed), n)))
    except Exception as error:  # a user's class may fail in any way; the report says how
        return Report(name, (Item("sampling", False, _line(error)),))
    return Report(name, tuple(_run(title, check, subject) for title, check in ITEMS.items()))


def _run(title: str, check: Callable[[_Subject], tuple[bool, str]], subject: _Subject) -> Item:
    try:
        return Item(title, *check(subject))
    except Exception as error:
        return Item(title, False, _line(error))


def _line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


# How it behaves under JAX ---------------------------------------------------------------------------------------


def _shape(s: _Subject) -> tuple[bool, str]:
    expected = (len(s.x), *s.stimulus.shape)
    return (
        s.x.shape == expected and s.x.dtype == np.float32,
        f"{s.x.dtype} {s.x.shape}, expected float32 {expected}",
    )


def _repeatable(s: _Subject) -> tuple[bool, str]:
    again = np.asarray(s.stimulus.sample(s.key, len(s.x)))
    other = np.asarray(s.stimulus.sample(jax.random.key(s.seed + 1), len(s.x)))
    return bool(
        np.array_equal(again, s.x) and not np.array_equal(other, s.x)
    ), "same key same bits, other key other bits"


def _vectorised(s: _Subject) -> tuple[bool, str]:
    keys = jax.random.split(s.key, 3)
    alone = np.stack([np.asarray(s.stimulus.sample(key, 8)) for key in keys])
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *[s.stimulus] * 3)
    together = np.asarray(_draw_stack(stacked, keys))
    apart = float(np.max(np.abs(alone - together)))
    return apart <= 1e-3 * (1 + float(np.max(np.abs(alone)))), f"a stack under jit and vmap differs by {apart:.1e}"


@jax.jit
@jax.vmap
def _draw_stack(stimulus: AbstractStimulus, key: Any) -> jax.Array:
    return stimulus.sample(key, 8)


def _precisions(s: _Subject) -> tuple[bool, str]:
    with jax.enable_x64(True):
        key = jax.random.key(s.seed)
        double = np.asarray(s.stimulus.sample(key, 1000, dtype=jnp.float64))
        single = np.asarray(s.stimulus.sample(key, len(s.x)))
    same = np.array_equal(single, s.x)
    good = double.dtype == np.float64 and bool(np.all(np.isfinite(double)))
    return bool(
        same and good
    ), f"float64 {'is finite' if good else 'fails'}; float32 bits {'do not' if same else ''} change with x64"


def _finite(s: _Subject) -> tuple[bool, str]:
    """By the program that has drawn the samples, unless they are few: it is compiled already."""
    pixels = int(np.prod(s.stimulus.shape))
    each = max(200_000 // pixels, len(s.x))
    keys = jax.random.split(jax.random.fold_in(s.key, 1), -(-10_000_000 // (each * pixels)))
    count = sum(np.sum(~np.isfinite(np.asarray(s.stimulus.sample(key, each)))) for key in keys)
    return bool(count == 0), f"{count} of {len(keys) * each * pixels} pixels are not finite"


# What it says of itself -----------------------------------------------------------------------------------------


def _within(features: Float[np.ndarray, "n *any"], truth: Any, what: str) -> tuple[bool, str]:
    """Whether averages agree with the truth to six standard errors and rounding."""
    mean = features.mean(0)
    error = features.std(0) / np.sqrt(len(features))
    slack = ROUNDING * (np.abs(features).mean(0) + np.abs(truth)) + 1e-12
    ratio = np.abs(mean - truth) / (SIGMAS * error + slack)
    return bool(
        np.all(ratio <= 1)
    ), f"{what} within {float(SIGMAS * np.max(ratio)):.1f} of {SIGMAS:.0f} standard errors"


def _mean(s: _Subject) -> tuple[bool, str]:
    flat, truth = s.x.reshape(len(s.x), -1).astype(float), s.stimulus.mean().ravel()
    every, overall = np.c_[flat, flat.mean(1)], np.append(truth, truth.mean())
    return _within(every, overall, "mean of every pixel and of all")


def _covariance(s: _Subject) -> tuple[bool, str]:
    heavy = not s.stimulus.marginal.excess_kurtosis() < 5  # beyond it, or where it diverges, errors mean little
    signs = s.stimulus.sign_correlation() if heavy else None
    if heavy and signs is None:
        return True, "not compared: the fourth moment is large or diverges, and no sign correlation is stated"
    if signs is not None:
        found = np.sign(s.x).astype(float)
        flat = found.reshape(len(found), -1)
        pairs = _autocorrelation(found).reshape(flat.shape) if s.stimulus.shift_invariant else flat[:, :1] * flat
        return _within(pairs, signs.ravel(), "sign correlations")
    if s.stimulus.shift_invariant:
        return _within(_autocorrelation(s.x - s.stimulus.mean()), s.stimulus.covariance(), "covariance")
    flat = s.x.reshape(len(s.x), -1)[:, :32].astype(float)
    flat = flat - flat.mean(0)
    products = flat[:, :, None] * flat[:, None, :]
    return _within(products, s.stimulus.covariance_matrix()[:32, :32], "covariance matrix")


def _autocorrelation(x: Float[np.ndarray, "n *pixels"]) -> Float[np.ndarray, "n *pixels"]:
    return np.asarray(circular_correlate(x, x, x.ndim - 1)) / np.prod(x.shape[1:])


def _marginal(s: _Subject) -> tuple[bool, str]:
    law = s.stimulus.marginal
    rows = np.arange(len(s.x))
    flat = s.x.reshape(len(s.x), -1)
    one = flat[rows, rows % flat.shape[1]].astype(float)  # one pixel a sample, every pixel in turn
    atoms = law.atoms()
    if atoms is not None:
        return _chi_square(one, *atoms)
    n = 1 / (1 / len(one) + 1 / law.draws())
    gap = _kolmogorov(one, law.cdf)
    limit = np.sqrt(np.log(2 / RARE) / (2 * n))
    return bool(gap <= limit), f"Kolmogorov distance {gap:.4f}, limit {limit:.4f}"


def _marginal_moments(s: _Subject) -> tuple[bool, str]:
    """Whether the law of a pixel has the mean and variance that all pixels have together."""
    law, means = s.stimulus.marginal, s.stimulus.mean()
    mean, variance = float(np.mean(means)), float(np.mean(s.stimulus.pixel_variances()) + np.var(means))
    noise = SIGMAS * np.sqrt((law.excess_kurtosis() + 2) / law.draws()) if np.isfinite(law.draws()) else 0.0
    gaps = abs(law.mean() - mean) / np.sqrt(variance), abs(law.variance() / variance - 1)
    return bool(max(gaps) <= ROUNDING + noise), (
        f"mean {law.mean():.6g} and variance {law.variance():.6g}, of all pixels {mean:.6g} and {variance:.6g}"
    )


def _kolmogorov(values: np.ndarray, cdf: Callable) -> float:
    """Largest distance of distribution functions, forgiving the rounding of values to float32."""
    values = np.sort(values)
    slack = 1e-5 * (1 + np.abs(values))
    above = np.searchsorted(values, values, side="right") / len(values)
    below = np.searchsorted(values, values, side="left") / len(values)
    return float(max(np.max(above - cdf(values + slack)), np.max(cdf(values - slack) - below)))


def _chi_square(values: np.ndarray, atoms: np.ndarray, chances: np.ndarray) -> tuple[bool, str]:
    counts = np.array([np.sum(np.abs(values - atom) < 1e-6 * np.max(np.abs(atoms))) for atom in atoms])
    if counts.sum() < len(values):
        return False, f"{len(values) - counts.sum()} values are none of {atoms.tolist()}"
    p = float(scipy.stats.chisquare(counts, chances * len(values)).pvalue)
    return p > RARE, f"chi-square p = {p:.2g}"


def _translation(s: _Subject) -> tuple[bool, str]:
    if not s.stimulus.shift_invariant:
        return True, "not claimed"
    u = np.tanh(s.x.astype(float)).reshape(s.x.shape)
    near = np.roll(u, 1, axis=-1)
    features = np.stack([u, u**2, u * near], axis=1)
    pixels = tuple(range(2, features.ndim))
    return _within(features - features.mean(axis=pixels, keepdims=True), 0.0, "moments alike at every pixel")


def _sign(s: _Subject) -> tuple[bool, str]:
    if not s.stimulus.sign_symmetric:
        return True, "not claimed"
    u = np.tanh(s.x.astype(float))
    features = np.stack(
        [u, u * np.roll(u, 1, axis=-1) * np.roll(u, 3, axis=-1), u * np.abs(np.roll(u, 1, axis=-1))], axis=1
    )
    return _within(features.reshape(len(u), 3, -1).mean(2), 0.0, "odd moments vanish")


ITEMS: dict[str, Callable[[_Subject], tuple[bool, str]]] = {
    "shape and type": _shape,
    "same key same bits": _repeatable,
    "jit and vmap": _vectorised,
    "float32 and float64": _precisions,
    "finite in 10^7 draws": _finite,
    "mean": _mean,
    "covariance": _covariance,
    "marginal": _marginal,
    "moments of the marginal": _marginal_moments,
    "translation invariance": _translation,
    "sign symmetry": _sign,
}
