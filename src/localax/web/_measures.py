"""Numbers of fields that stand beside them: how local they are, and what F17 says they are worth."""

from typing import Any

import numpy as np

from .._errors import SettingError
from ..analysis import ipr, peak
from ..stimuli import Task
from ..theory import objective
from ._numbers import listed, packed

NUMBERS = 320_000
"""Random numbers behind C, r and J of a frame: a hundredth of a second, and an error of J of 0.003."""


def measures(task: Task, fields: np.ndarray, *, valued: bool = True) -> dict[str, Any]:
    """Of **fields** (field, *pixels): themselves, IPR and peak, and if **valued** C, r and J."""
    ndim = len(task.shape)
    found = {"fields": packed(fields), "ipr": listed(ipr(fields, ndim=ndim)), "peak": listed(_peaks(fields, ndim))}
    return {**found, **(worth(task, fields) if valued else UNKNOWN)}


UNKNOWN: dict[str, Any] = {"geary": None, "ratio": None, "objective": None}


def worth(task: Task, fields: np.ndarray) -> dict[str, Any]:
    """Geary's ratio C, the ratio of variances r and J of each field, or None where there is no such thing."""
    samples = int(np.clip(NUMBERS // np.prod(task.shape), 500, 20_000))
    elliptical = all(stimulus.elliptical_constant() is not None for stimulus in task.stimuli)
    try:
        found = objective(task, fields, method="exact" if elliptical else "sampled", samples=samples)
    except SettingError:  # no labels, or a field of zeros
        return UNKNOWN
    return {"geary": listed(found.geary, 5), "ratio": listed(found.ratio, 5), "objective": listed(found.value, 5)}


def _peaks(fields: np.ndarray, ndim: int) -> np.ndarray:
    """The place of the largest weight: a pixel, or row and column."""
    return np.asarray(peak(fields, ndim=ndim))
