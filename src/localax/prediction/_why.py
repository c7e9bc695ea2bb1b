"""Why: what a field is worth to a ReLU neuron, J = C/sqrt(1 + r), for the field found and its competitors."""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from .._errors import SettingError, setting_error
from .._types import Float
from ..stimuli import Empirical, Task
from ..theory import objective
from ._amplifier import Band, band
from ._assumptions import assumptions, hold, periodic
from ._classes import Classes, Rows
from ._flow import second_moment

MOST = 2_000_000
"""Numbers of each class that are looked at."""
TAIL = 0.01
"""The share of the largest values that the tail is judged by."""
BANDWIDTH = 0.4
"""Of the kernel for S = 0, in standard deviations of S."""
SMOOTHED = (3 - 1 / (1 + BANDWIDTH**2)) / (2 * math.sqrt(1 + BANDWIDTH**2))
"""What the kernel makes of the density of a Gaussian at 0, of which it is then free."""
GROUPS = 10
"""Parts of the data that standard errors come from."""


@dataclass(frozen=True)
class Worth:
    """What a field is worth: ``geary`` C, ``ratio`` r and ``value`` J = C/sqrt(1 + r)."""

    geary: float
    ratio: float
    value: float


@dataclass(frozen=True)
class Why:
    """The numbers behind a verdict.

    ``found``, ``spread``, ``pixel``: what the field found, the best spread field and the best field behind the gate of
    one pixel are worth. ``rate``, ``rate_error``: growth of the fastest wave on a flat field, with its standard
    error, where data are periodic, stationary and symmetric; else None. ``amplifier``: of a pixel, with its band.
    ``excess_kurtosis``: of a pixel. ``tail``: Hill's estimate of its tail's exponent. ``mean``: the largest mean of a
    pixel, in standard deviations.
    """

    found: Worth
    spread: Worth
    pixel: Worth
    rate: float | None
    rate_error: float | None
    amplifier: Band
    excess_kurtosis: float
    tail: float
    mean: float


def why(classes: Classes, field: Float[np.ndarray, "*pixels"], flat: bool) -> Why:
    """The numbers behind what the flow found; ``flat``: whether a flat field may be a steady state."""
    classes = classes.most(MOST)
    task = Task([Empirical(classes.zero), Empirical(classes.one)], [0, 1])
    linear = spread_field(classes)
    values = (classes.one - classes.one.mean(0)) / np.maximum(classes.one.std(0), 1e-6)
    return Why(
        worth(task, field.ravel()[None]),
        worth(task, np.stack([linear, -linear])),
        worth(task, pixel_fields(classes)),
        *(threshold(classes) if flat else (None, None)),
        band(classes),
        float(np.mean(values**4, dtype=float) / np.mean(values**2, dtype=float) ** 2 - 3),
        hill(values),
        float(np.max(np.abs(classes.one.mean(0)) / np.maximum(classes.one.std(0), 1e-6))),
    )


def worth(task: Task, fields: Float[np.ndarray, "fields pixels"]) -> Worth:
    """What the best of several fields is worth."""
    found = objective(task, fields)
    best = int(np.argmax(np.nan_to_num(found.value, nan=-np.inf)))  # of a field that no sample meets, all is NaN
    return Worth(float(found.geary[best]), float(found.ratio[best]), float(found.value[best]))


def spread_field(classes: Classes) -> Float[np.ndarray, " pixels"]:
    """The field of least r: the best there is where projections are alike in all but variance."""
    one, zero = second_moment(classes.one), second_moment(classes.zero)
    return scipy.linalg.eigh(one, one + zero)[1][:, -1]


def pixel_fields(classes: Classes) -> Float[np.ndarray, "fields pixels"]:
    """Behind the gates X_i > 0 and X_i < 0 of every pixel, the field of least squares: M^-1 E_1[1(gate) X]."""
    x = classes.one
    gated = np.concatenate([(x > 0).astype(x.dtype).T @ x, (x < 0).astype(x.dtype).T @ x]) / len(x)
    gated = gated[np.any(gated, axis=1)].astype(float)  # a pixel of one sign alone has one gate alone
    return np.linalg.solve(second_moment(x) + second_moment(classes.zero), gated.T).T


def threshold(classes: Classes) -> tuple[float, float]:
    """How fast the fastest wave on a flat field grows on periodic data, and the standard error of that."""
    rates, errors = growth_rates(classes)
    fastest = int(np.argmax(rates))
    return float(rates[fastest]), float(errors[fastest])


def data_threshold(task: Task) -> tuple[float, float]:
    """The growth rate of the fastest wave on a flat field, and its standard error, on two classes of data.

    **task**: label 0 and 1, each a data set. Refused where places or signs differ, and no flat field rests.
    """
    zero, one = (stimulus.dataset() for stimulus in task.stimuli)
    if zero is None or one is None:
        raise setting_error("data_threshold", "task", task, "two data sets")
    classes = Classes(one.reshape(len(one), -1), zero.reshape(len(zero), -1), task.shape, 1.0, "", False).most(MOST)
    if not periodic(classes, assumptions(classes, ["S2"])) or not hold(assumptions(classes, ["S3"]), "S3"):
        raise SettingError("places or signs of these data differ, or are too few to tell, so that no flat field rests")
    return threshold(classes)


def growth_rates(classes: Classes) -> tuple[Float[np.ndarray, " waves"], Float[np.ndarray, " waves"]]:
    """How fast every wave but the flat one grows on a flat field, and the standard errors of that.

    At w = c 1 with S = sum_i X_i of class 1, wave k grows at p_S(0) E[|X_k|^2 | S = 0]/(c N) - (l0_k + l1_k)/2, where
    c = E|S|/(N (l0_0 + l1_0)); a kernel of fourth order stands for S = 0.
    """
    rates = np.array([_rates(part) for part in _groups(classes)])
    return rates.mean(0), rates.std(0, ddof=1) / math.sqrt(GROUPS)


def _groups(classes: Classes) -> list[Classes]:
    """The samples in parts, whose differences say how sure a number is."""
    one, zero = (np.array_split(x, GROUPS) for x in (classes.one, classes.zero))
    return [replace(classes, one=a, zero=b) for a, b in zip(one, zero, strict=True)]


def _rates(classes: Classes) -> Float[np.ndarray, " waves"]:
    """The rate of every wave but the flat one, opposite waves together."""
    n, (one, zero) = classes.pixels, (_powers(x, classes.shape) for x in (classes.one, classes.zero))
    total = classes.one.sum(1, dtype=float)
    width = BANDWIDTH * total.std()
    u = total / width
    kernel = (3 - u**2) / 2 * np.exp(-(u**2) / 2) / (math.sqrt(2 * math.pi) * width * SMOOTHED)
    height = np.mean(np.abs(total)) / (one.mean(0)[0] + zero.mean(0)[0])  # c N
    drive = kernel @ one / len(one) * n / height
    rates = drive - (one.mean(0) + zero.mean(0)) / 2
    return rates[1 : n // 2 + 1] if len(classes.shape) == 1 else rates[1:]


def _powers(x: Rows, shape: tuple[int, ...]) -> Float[np.ndarray, "n waves"]:
    """|X_k|^2/N of every sample, whose mean is the eigenvalue l_k of the second moment."""
    waves = np.fft.fftn(x.reshape(-1, *shape), axes=range(1, 1 + len(shape)))
    return (np.abs(waves) ** 2).reshape(len(x), -1) / x.shape[1]


def hill(values: np.ndarray) -> float:
    """Hill's estimate of the exponent of the tail of absolute values; infinite where they stop at a bound."""
    size = np.abs(values).ravel()
    k = max(10, int(TAIL * size.size))
    if k + 1 >= size.size:
        return float("nan")
    top = np.partition(size, size.size - k - 1)[-k - 1 :]
    mean = float(np.mean(np.log(top[1:] / top[0])))
    return 1 / mean if mean > 0 else float("inf")
