"""The paper's assumptions, measured: S1 to S3 on stimuli, A1 and A2 on conditional moments.

Each check is a smooth function of averages over samples. Its bias and standard error come from the jackknife over
batches, so that 0 within the error means "holds as far as this many samples can tell". Checks take a stimulus, of
which they draw samples, or a data set, of which each sample counts once: drawn with replacement, a sample that comes
twice would look like a violation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._errors import SettingError, setting_error
from .._math import circular_convolve, ring_distance
from .._types import Float
from ._base import AbstractStimulus
from ._empirical import checked_samples

BATCHES = 25
Moments = dict[str, np.ndarray]


@dataclass(frozen=True)
class Check:
    """A measured assumption: its ``name``, a ``value`` with its ``standard_error``, and the ``meaning`` of that."""

    name: str
    value: float
    standard_error: float
    meaning: str

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.3g} +- {self.standard_error:.2g} ({self.meaning})"


def weak_dependence(data: Any, *, n: int = 20_000, seed: int = 0) -> Check:
    """S1: how far a pixel is from independent of all pixels in the opposite half of the ring.

    The alpha-mixing coefficient is a supremum over events; this is its value over four of them: sign or size of the
    pixel, with sign of the sum or size of the far pixels. It is thus a lower bound, zero under independence.
    ``data`` is a stimulus, of which ``n`` samples are drawn with a ``seed``, or an array of samples.
    """
    x = _batches(data, n, seed)
    far = _far_sum(x), _far_sum(np.abs(x))
    near = x > 0, np.abs(x) > np.median(np.abs(x))
    beyond = far[0] > 0, far[1] > np.median(far[1])
    events = [(a, b) for a in near for b in beyond]
    checks = []
    for a, b in events:
        moments = {"both": _mean(a & b), "a": _mean(a), "b": _mean(b)}
        checks.append(_jackknife(moments, lambda m: np.mean(m["both"] - m["a"] * m["b"])))
    value, error = max(checks, key=lambda c: abs(c[0]))
    return Check("weak dependence (S1)", abs(value), error, "0 if distant pixels are independent, at most 1/4")


def translation_invariance(data: Any, *, n: int = 20_000, seed: int = 0) -> Check:
    """S2: the share of the first and second moments of tanh(x) that depends on absolute position.

    ``data`` is a stimulus, of which ``n`` samples are drawn with a ``seed``, or an array of samples.
    """
    u = np.tanh(_batches(data, n, seed))
    moments = {"mean": _mean(u), **{f"lag{i}": _mean(u * _rolled(u, lag)) for i, lag in enumerate(_lags(u))}}
    moments["square"] = _mean(u**2)

    def share(m: Moments) -> float:
        rows = np.stack(list(m.values())).reshape(len(m), -1)
        return float(np.sum((rows - rows.mean(1, keepdims=True)) ** 2) / np.sum(rows**2))

    value, error = _jackknife(moments, share)
    return Check("translation invariance (S2)", value, error, "0 if every shift has the same law, at most 1")


def sign_symmetry(data: Any, *, n: int = 20_000, seed: int = 0) -> Check:
    """S3: the size of odd moments of tanh(x), first and third order, against that of single samples.

    ``data`` is a stimulus, of which ``n`` samples are drawn with a ``seed``, or an array of samples.
    """
    u = np.tanh(_batches(data, n, seed))
    near, next_ = (_rolled(u, lag) for lag in _lags(u)[:2]) if len(_lags(u)) > 1 else (_rolled(u, _lags(u)[0]), u)
    odd = {"first": u, "cubic": u**3, "product": u * near * next_}
    moments = {name: _mean(feature) for name, feature in odd.items()}
    scale = sum(float(np.mean(feature**2)) for feature in odd.values())
    value, error = _jackknife(moments, lambda m: sum(float(np.mean(v**2)) for v in m.values()) / scale)
    return Check("sign symmetry (S3)", value, error, "0 if -x is as likely as x, at most 1")


def conditional_mean(data: Any, *, n: int = 20_000, seed: int = 0) -> Check:
    """A1: how far E[X_j | X_i] is from a straight line in X_i.

    A line gives Cov[X_j, h(X_i)]/Cov[X_i, h(X_i)] = Cov_ij/Var_i for every h; here h is the sign. ``data`` is a
    stimulus, of which ``n`` samples are drawn with a ``seed``, or an array of samples.
    """
    x = _batches(data, n, seed)
    sign = np.sign(x - np.mean(x))
    moments = {"x": _mean(x), "xx": _mean(x**2), "h": _mean(sign), "hx": _mean(sign * x)}
    for i, lag in enumerate(_lags(x)):
        other = _rolled(x, lag)
        moments |= {f"y{i}": _mean(other), f"xy{i}": _mean(x * other), f"hy{i}": _mean(sign * other)}

    def deviation(m: Moments) -> float:
        variance, gate = m["xx"] - m["x"] ** 2, m["hx"] - m["h"] * m["x"]
        lags = range(len(_lags(x)))
        lines = [(m[f"xy{i}"] - m["x"] * m[f"y{i}"]) / variance for i in lags]
        bends = [(m[f"hy{i}"] - m["h"] * m[f"y{i}"]) / gate - lines[i] for i in lags]
        return float(np.sum(np.square(bends)) / np.sum(np.square(lines)))

    value, error = _jackknife(moments, deviation)
    return Check("conditional mean (A1)", value, error, "0 if E[X | X_i] is linear in X_i, relative and squared")


def conditional_covariance(data: Any, *, n: int = 20_000, seed: int = 0) -> Check:
    """A2: how far Cov[X | X_i] is from the same for every value of X_i.

    For centred pixels and any event on X_i, here ``|X_i|`` above its median, E[X_j X_k | .] should be
    Cov_jk + (E[X_i^2 | .]/Var_i - 1) Cov_ij Cov_ik/Var_i; measured for k = j and k next to j. Needs fourth moments.
    ``data`` is a stimulus, of which ``n`` samples are drawn with a ``seed``, or an array of samples.
    """
    x = _batches(data, n, seed)
    size = np.abs(x - np.mean(x))
    large = size > np.median(size)
    large = (large if large.any() else size >= 0).astype(x.dtype)  # all of two values alike in size: no condition
    step = _lags(x)[0]
    moments = {"p": _mean(large), **_second(large, x, x, "ii")}
    for i, lag in enumerate(_lags(x)):
        y, z = _rolled(x, lag), _rolled(x, tuple(a + b for a, b in zip(lag, step, strict=True)))
        for name, pair in {"jj": (y, y), "jk": (y, z), "ij": (x, y), "ik": (x, z)}.items():
            moments |= _second(large, *pair, f"{name}{i}")

    def deviation(m: Moments) -> float:
        variance, large_variance = _covariances(m, "ii")
        excess = (large_variance / variance - 1) / variance
        apart, scale = 0.0, 0.0
        for i in range(len(_lags(x))):
            near, beside = _covariances(m, f"ij{i}")[0], _covariances(m, f"ik{i}")[0]
            for name, other in (("jj", near), ("jk", beside)):
                plain, conditioned = _covariances(m, f"{name}{i}")
                apart += float(np.sum((conditioned - plain - excess * near * other) ** 2))
                scale += float(np.sum(plain**2))
        return apart / scale

    value, error = _jackknife(moments, deviation)
    return Check("conditional covariance (A2)", value, error, "0 if Cov[X | X_i] does not depend on X_i, relative")


def _second(event: np.ndarray, y: np.ndarray, z: np.ndarray, name: str) -> Moments:
    """First and second moments of two pixels, over everything and over an event."""
    features = {"y": y, "z": z, "yz": y * z}
    return {f"{name} {k}": _mean(v) for k, v in features.items()} | {
        f"{name} {k} in": _mean(event * v) for k, v in features.items()
    }


def _covariances(m: Moments, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of two pixels, and the mean product of their centred values given the event."""
    y, z = m[f"{name} y"], m[f"{name} z"]
    inside = m[f"{name} yz in"] - y * m[f"{name} z in"] - z * m[f"{name} y in"]
    return m[f"{name} yz"] - y * z, inside / m["p"] + y * z


# What the checks share ------------------------------------------------------------------------------------------


def _batches(data: Any, n: int, seed: int) -> Float[np.ndarray, "batches n *pixels"]:
    if isinstance(data, AbstractStimulus):
        own = data.dataset()
        x = np.asarray(data.sample(jax.random.key(seed), n)) if own is None else own
    else:
        x = checked_samples("samples", data)
    if len(x) < 10 * BATCHES:
        raise SettingError(f"samples: at least {10 * BATCHES} are needed to tell a number from noise, got {len(x)}")
    if np.ptp(x) == 0:
        raise setting_error("samples", "values", "a constant", "numbers that vary")
    each = len(x) // BATCHES
    return x[: each * BATCHES].reshape(BATCHES, each, *x.shape[1:]).astype(np.float64)


def _mean(feature: np.ndarray) -> np.ndarray:
    return feature.mean(axis=1)


def _lags(x: np.ndarray) -> list[tuple[int, ...]]:
    """Shifts by powers of two along each pixel axis, up to half the ring, at most 64 pixels."""
    sides = x.shape[2:]
    steps = [2**i for i in range(7)]
    return [
        tuple(step if axis == other else 0 for other in range(len(sides)))
        for axis, side in enumerate(sides)
        for step in steps
        if step <= max(side // 2, 1)
    ]


def _rolled(x: np.ndarray, lag: tuple[int, ...]) -> np.ndarray:
    return np.roll(x, [-step for step in lag], axis=range(2, x.ndim))


def _far_sum(x: np.ndarray) -> np.ndarray:
    """For every pixel, the sum over the pixels more than a quarter of the last axis away."""
    width = x.shape[-1]
    columns = x.sum(axis=tuple(range(2, x.ndim - 1)), keepdims=True) if x.ndim > 3 else x
    far = (ring_distance(width) > width / 4).astype(float)
    return np.broadcast_to(circular_convolve(columns, far, 1), x.shape)


def _jackknife(moments: Moments, statistic: Callable[[Moments], Any]) -> tuple[float, float]:
    """A statistic of batch averages, free of its first-order bias, with its standard error."""
    full = float(statistic({name: m.mean(0) for name, m in moments.items()}))
    left_out = np.array(
        [
            float(statistic({name: (m.sum(0) - m[b]) / (BATCHES - 1) for name, m in moments.items()}))
            for b in range(BATCHES)
        ]
    )
    error = np.sqrt((BATCHES - 1) * np.mean((left_out - left_out.mean()) ** 2))
    value = BATCHES * full - (BATCHES - 1) * float(left_out.mean())
    # A share has no larger bias than itself: data that are symmetric by construction have neither.
    return max(value, -full) if full >= 0 else value, float(error)
