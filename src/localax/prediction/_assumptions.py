"""What the theory assumes of data, measured on them: the verdict needs none of it."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..stimuli import (
    Check,
    conditional_covariance,
    conditional_mean,
    sign_symmetry,
    translation_invariance,
    weak_dependence,
)
from ._classes import Classes, Rows

SMALL, LARGE = 0.01, 0.05
"""A measured violation holds below the first and is one beyond the second, each with two standard errors of room."""
MOST = 200_000
"""Numbers of each class that are looked at."""
FEWEST = 250
"""Samples below which no number can be told from noise."""
CHECKS = {
    "S1": (weak_dependence, "distant pixels depend on each other, and one field may not fit everywhere"),
    "S2": (
        translation_invariance,
        "places differ, so that the field sits where it pays most; no flat state, no shifts",
    ),
    "S3": (sign_symmetry, "x and -x differ, so that C and r stand for their values on the positive side of the gate"),
    "A1": (conditional_mean, "the effective flow's drive is not linear in one pixel, and its field is off"),
    "A2": (conditional_covariance, "the effective flow overlooks how neighbours gather around a large pixel"),
}
"""By the names of the paper: what measures it, and what a violation does to the theory."""


@dataclass(frozen=True)
class Assumption:
    """An assumption of the theory, on one class of the data.

    ``name``: S1 to S3, A1 or A2. ``title``: what that is. ``label``: of the class. ``value``, ``standard_error``: how
    far it is from holding. ``status``: holds, borderline or violated. ``meaning``: of the value. ``effect``: of a
    violation on the theory.
    """

    name: str
    title: str
    label: int
    value: float
    standard_error: float
    status: str
    meaning: str
    effect: str

    def __str__(self) -> str:
        number = f"{self.value:.3g} +- {self.standard_error:.2g}"
        said = f"{self.name} {self.title}, class {self.label}: {number}, {self.status}"
        return said if self.status == "holds" else f"{said}: {self.effect}"


def assumptions(classes: Classes, names: Collection[str] = tuple(CHECKS)) -> tuple[Assumption, ...]:
    """Assumptions by their names on every class that was given; none where samples are too few to tell."""
    few = classes.most(MOST)
    given = {1: few.one} if classes.invented else {1: few.one, 0: few.zero}
    return tuple(
        _judged(name, label, measure(_placed(name, x).reshape(len(x), *classes.shape)), effect)
        for label, x in given.items()
        if len(x) >= FEWEST
        for name, (measure, effect) in CHECKS.items()
        if name in names
    )


def _placed(name: str, x: Rows) -> Rows:
    """Samples as they are; where places are compared, less the mean of all, beside which any difference is small; where
    something is asked given a large pixel, each pixel in units of its own, by which all of them are large at times."""
    if name in ("A1", "A2"):
        return (x - x.mean(0)) / np.maximum(x.std(0), 1e-6)
    return x - x.mean() if name == "S2" else x


def _judged(name: str, label: int, check: Check, effect: str) -> Assumption:
    room = 2 * check.standard_error
    within = check.value <= SMALL + room
    status = "holds" if within else "borderline" if check.value <= LARGE + room else "violated"
    title = check.name.removesuffix(f" ({name})")
    return Assumption(name, title, label, check.value, check.standard_error, status, check.meaning, effect)


def hold(checks: tuple[Assumption, ...], name: str) -> bool:
    """Whether an assumption holds on every class that was looked at, and was looked at at all."""
    mine = [check.status for check in checks if check.name == name]
    return bool(mine) and all(status == "holds" for status in mine)


def periodic(classes: Classes, checks: tuple[Assumption, ...]) -> bool:
    """Whether every circular shift of the data is as good as the data."""
    return hold(checks, "S2") and bool(np.all(np.array(classes.shape) > 2))
