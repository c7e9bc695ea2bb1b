"""The settings of a run, each checked in one place and refused in one line."""

from typing import Any

import numpy as np

from .._errors import setting_error
from ..spec import counted_seeds


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number that steps and samples can be counted with."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**31:
        raise setting_error("train", name, value, f"a whole number >= {least} and < 2^31")
    return int(value)


def truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise setting_error("train", name, value, "true or false")
    return bool(value)


def positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise setting_error("train", name, value, "a finite number > 0")
    return float(value)


def checked_seeds(seeds: Any) -> np.ndarray:
    """Seeds one by one; a whole number stands for that many."""
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        return np.arange(counted_seeds("train", int(seeds)), dtype=np.int32)
    array = np.asarray(seeds)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0 or array.max() >= 2**31:
        raise setting_error("train", "seeds", seeds, "whole numbers from 0 to 2^31 - 1, or how many")
    if len(np.unique(array)) < len(array):
        raise setting_error("train", "seeds", seeds, "different from each other")
    return array.astype(np.int32)


def checked_rate(rate: Any) -> np.ndarray:
    """One step size, or a list of them."""
    array = np.asarray(rate)
    numbers = array.ndim <= 1 and array.dtype.kind in "iuf" and array.size
    if not numbers or not np.all(np.isfinite(array) & (array > 0)):
        raise setting_error("train", "rate", rate, "a finite number > 0, or a list of them")
    return array.astype(float)


def checked_dtype(dtype: Any) -> Any:
    try:
        known = np.dtype(dtype)
    except TypeError as error:
        raise setting_error("train", "dtype", dtype, "float32 or float64") from error
    if dtype is None or known not in (np.float32, np.float64):
        raise setting_error("train", "dtype", dtype, "float32 or float64")
    return known
