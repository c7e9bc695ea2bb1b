"""Two classes of samples on one scale: somebody's own, or one class and a contrast made from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import SettingError, setting_error
from .._types import Float
from ..stimuli import Empirical
from ._files import read_data

FEWEST = 16
"""Samples a class must have."""

Rows = Float[np.ndarray, "_ pixels"]


@dataclass(frozen=True, eq=False)
class Classes:
    """Samples of label 1 and of label 0, pixels flattened, in units of the root mean square of all of them.

    ``shape``: of the pixels. ``scale``: the unit. ``contrast``: what class 0 is, in words. ``invented``: whether it was
    made from class 1.
    """

    one: Rows
    zero: Rows
    shape: tuple[int, ...]
    scale: float
    contrast: str
    invented: bool

    @property
    def pixels(self) -> int:
        return self.one.shape[1]

    def shares(self, share: float) -> tuple[int, int]:
        """How many samples of each class a share of the data has."""
        return max(1, round(share * len(self.one))), max(1, round(share * len(self.zero)))

    def centred(self) -> "Classes":
        """Every pixel of each class less its mean there, on one scale again."""
        one, zero = (x - x.mean(0, dtype=float).astype(x.dtype) for x in (self.one, self.zero))
        unit = np.float32(common_scale(one, zero))
        return replace(self, one=one / unit, zero=zero / unit, scale=self.scale * float(unit))

    def most(self, numbers: int) -> "Classes":
        """The first samples of each class, so many that they hold no more than this many numbers each."""
        rows = max(FEWEST, numbers // self.pixels)
        return replace(self, one=self.one[:rows], zero=self.zero[:rows])


# Contrasts for one class ----------------------------------------------------------------------------------------------


def independent_pixels(x: Rows, rng: np.random.Generator) -> Rows:
    """Every pixel shuffled over the samples by itself: the same marginals, and no dependence."""
    out = np.empty_like(x)
    for pixel in range(x.shape[1]):
        out[:, pixel] = x[rng.permutation(len(x)), pixel]
    return out


def shuffled_within(x: Rows, rng: np.random.Generator) -> Rows:
    """The pixels of every sample in another order: the same values in each sample, and no place for them."""
    return rng.permuted(x, axis=1)


CONTRASTS: dict[str, Callable[[Rows, np.random.Generator], Rows]] = {
    "independent pixels": independent_pixels,
    "shuffled within samples": shuffled_within,
}
"""What one class is told apart from where there are no labels: the first decides, the second is a sensitivity."""


def contrasted(classes: Classes, name: str, seed: int) -> Classes:
    """The same class 1 against a contrast made from it."""
    return replace(classes, zero=CONTRASTS[name](classes.one, np.random.default_rng([seed, 1])), contrast=name)


# What is given --------------------------------------------------------------------------------------------------------


def as_classes(samples: Any, labels: Any, contrast: Any, *, centre: bool, seed: int) -> Classes:
    """Samples as they are given, checked, in random order, on one scale."""
    array = checked(samples, "samples")
    if labels is not None and contrast is not None:
        raise SettingError("predict: labels and contrast both say what class 0 is; give one of them")
    rng = np.random.default_rng([seed, 0])
    one, zero, name = _parted(array, labels, contrast)
    shape, one = array.shape[1:], _flat(one, rng)
    zero = CONTRASTS[name](one, np.random.default_rng([seed, 1])) if zero is None else _flat(zero, rng)
    _refuse_few(one, zero)
    scale = common_scale(one, zero)
    _refuse_constant(one, zero, scale)
    invented = labels is None and contrast is None
    one /= np.float32(scale)  # both are copies of ours
    zero /= np.float32(scale)
    found = Classes(one, zero, shape, scale, name, invented)
    return found.centred() if centre else found


def read_stimuli(samples: Path | str, labels: Path | str | None = None) -> tuple[Empirical, Empirical]:
    """The classes of label 0 and 1 that :func:`predict` compares, from files: two stimuli to train on.

    **samples**: a file, or a folder of images. **labels**: a file with one of two values for every sample; without,
    class 0 are independent pixels of the same marginals. Both are in units of the root mean square of all.
    """
    data, given = read_data(samples, labels)
    found = as_classes(data.samples, given, None, centre=False, seed=0)
    zero, one = (Empirical(x.reshape(-1, *found.shape)) for x in (found.zero, found.one))
    return zero, one


def common_scale(one: Rows, zero: Rows) -> float:
    """The root mean square of both classes, which count alike."""
    with np.errstate(over="ignore"):  # infinite where float32 cannot hold it, which is refused
        return float(np.sqrt((np.mean(one**2, dtype=float) + np.mean(zero**2, dtype=float)) / 2))


def _parted(array: np.ndarray, labels: Any, contrast: Any) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Class 1, class 0 where it is given, and what class 0 is called."""
    if labels is not None:
        return _by_labels(array, labels)
    if contrast is None:
        return array, None, next(iter(CONTRASTS))
    other = checked(contrast, "contrast")
    if other.shape[1:] != array.shape[1:]:
        raise setting_error("predict", "contrast", f"pixels {other.shape[1:]}", f"of the samples' {array.shape[1:]}")
    return array, other, "a contrast of your own"


def _by_labels(array: np.ndarray, labels: Any) -> tuple[np.ndarray, np.ndarray, str]:
    y = np.asarray(labels)
    if y.dtype.kind not in "biuf" or y.ravel().shape != (len(array),):
        expected = f"{len(array)} numbers, one per sample"
        raise setting_error("predict", "labels", f"{y.dtype} array of shape {y.shape}", expected)
    y = y.ravel()
    values = np.unique(y)
    if not np.all(np.isfinite(values)) or len(values) != 2:
        raise setting_error("predict", "labels", f"{len(values)} different values", "of two values; pick two classes")
    return array[y == values[1]], array[y == values[0]], f"your label {float(values[0]):g}"


def checked(samples: Any, what: str) -> np.ndarray:
    """Numbers of shape (n, pixels) or (n, height, width), or one line that says what is wrong."""
    expected = "finite numbers of shape (n, pixels) or (n, height, width)"
    try:
        array = np.asarray(samples)
    except ValueError as error:  # ragged nested lists
        raise setting_error("predict", what, samples, expected) from error
    if array.ndim == 4:
        raise SettingError(f"predict: {what} have several channels, {array.shape}; give one, or their mean (grey)")
    if array.dtype.kind not in "biuf" or array.ndim not in (2, 3) or 0 in array.shape:
        raise setting_error("predict", what, f"{array.dtype} array of shape {array.shape}", expected)
    if np.prod(array.shape[1:]) < 4:
        raise setting_error("predict", what, f"{np.prod(array.shape[1:])} pixels", "of at least 4 pixels")
    with np.errstate(over="ignore", invalid="ignore"):  # what float32 cannot hold is refused below
        array = array.astype(np.float32, copy=False)
    for start in range(0, len(array), 4096):  # in pieces: no mask as large as the data
        if not np.all(np.isfinite(array[start : start + 4096])):
            bad = np.argwhere(~np.isfinite(array[start : start + 4096]))[0] + [start, *[0] * (array.ndim - 1)]
            raise setting_error("predict", what, f"a value that is not finite at {bad.tolist()}", expected)
    return array


def _flat(array: np.ndarray, rng: np.random.Generator) -> Rows:
    """Pixels in one axis; in random order, as parts of the data are to be samples of them all."""
    return array.reshape(len(array), -1)[rng.permutation(len(array))]


def _refuse_few(one: Rows, zero: Rows) -> None:
    for label, rows in ((1, one), (0, zero)):
        if len(rows) < FEWEST:
            raise SettingError(f"predict: class {label} has {len(rows)} samples; at least {FEWEST} are needed")


def _refuse_constant(one: Rows, zero: Rows, scale: float) -> None:
    if not np.isfinite(scale) or scale == 0:
        raise setting_error("predict", "samples", f"numbers of size {scale:g}", "numbers that float32 can hold, not 0")
    spread = np.maximum(np.ptp(one, axis=0), np.ptp(zero, axis=0))
    if not np.any(spread):
        raise SettingError("predict: all samples are equal; nothing can be told from them")
    if not np.all(spread):
        where = np.flatnonzero(spread == 0)
        raise SettingError(f"predict: {len(where)} pixels never vary, the first is {where[0]}; leave them out")
