"""Simpler predictors, for comparison: each a number from samples, and where it says that data localize."""

import warnings
from collections.abc import Callable

import numpy as np

from .._errors import SettingError
from ..analysis import ica, localized
from ..stimuli import Empirical, Task
from ..theory import effective_flow
from ._classes import Classes
from ._ends import Settings
from ._flow import starts
from ._why import pixel_fields, spread_field, threshold, worth

MOST = 200_000
"""Numbers of each class that are looked at."""
FIELDS = 8
"""Starts of the effective flow, and components of ICA."""


def kurtosis(classes: Classes, settings: Settings) -> float:
    """The excess kurtosis of a pixel of class 1."""
    del settings
    values = (classes.one - classes.one.mean(0)) / np.maximum(classes.one.std(0), 1e-6)
    return float(np.mean(values**4, dtype=float) - 3)


def growth(classes: Classes, settings: Settings) -> float:
    """How fast the fastest wave grows on a flat field, as if data were periodic."""
    del settings
    return threshold(classes)[0]


def gap(classes: Classes, settings: Settings) -> float:
    """log J of the best field behind one pixel's gate, less that of the best spread field."""
    del settings
    task, linear = _task(classes), spread_field(classes)
    pixel, spread = worth(task, pixel_fields(classes)), worth(task, np.stack([linear, -linear]))
    return float(np.log(pixel.value / spread.value))


def effective(classes: Classes, settings: Settings) -> float:
    """The share of starts from which the effective flow ends in a local field; NaN where it is refused."""
    w0, times = starts(classes.shape, FIELDS), [0.0, settings.horizon]
    few = Task([Empirical(x.reshape(-1, *classes.shape)) for x in (classes.zero, classes.one)], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of assumptions that the data violate
        try:
            ends = effective_flow(few, w0, times=times, rtol=1e-4).final[:, 0]
        except SettingError:
            return float("nan")
    return float(np.mean(localized(ends, ndim=len(classes.shape))))


def components(classes: Classes, settings: Settings) -> float:
    """The share of filters of independent component analysis that are local."""
    del settings
    x = classes.one.reshape(-1, *classes.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that were not enough
        filters = ica(x, min(FIELDS, classes.pixels))
    return float(np.mean(localized(filters, ndim=len(classes.shape))))


BASELINES: dict[str, tuple[Callable[[Classes, Settings], float], Callable[[float], bool]]] = {
    "kurtosis": (kurtosis, lambda value: value < 0),
    "growth": (growth, lambda value: value > 0),
    "gap": (gap, lambda value: value > 0),
    "effective": (effective, lambda value: value >= 0.5),
    "ica": (components, lambda value: value >= 0.5),
}
"""By name: the number, and whether it says that data localize."""


def baselines(classes: Classes, settings: Settings) -> dict[str, float]:
    """The number of every one of them."""
    few = classes.most(MOST)
    return {name: measure(few, settings) for name, (measure, _) in BASELINES.items()}


def _task(classes: Classes) -> Task:
    return Task([Empirical(classes.zero), Empirical(classes.one)], [0, 1])
