"""A row is many cases of one comparison; a case gives its error in units of its tolerance."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

SIGMAS = 6.0


@dataclass(frozen=True)
class Case:
    """``error()``: the worst error over its tolerance; more than 1, NaN or an exception is a miss."""

    what: str
    error: Callable[[], float]


@dataclass(frozen=True)
class Row:
    """``cases()`` lists them without computing any."""

    name: str
    cases: Callable[[], list[Case]]


def apart(found: object, truth: object, tolerance: float, scale: float | None = None) -> float:
    """The largest difference over tolerance times scale: by default the largest true number, at least 1."""
    found, truth = np.asarray(found, float), np.asarray(truth, float)
    assert found.shape == truth.shape, f"shape {found.shape}, not {truth.shape}"
    same = (found == truth) | (np.isnan(found) & np.isnan(truth))  # infinite moments among them
    size = max(1.0, float(np.max(np.abs(truth[np.isfinite(truth)]), initial=0))) if scale is None else scale
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(found - truth)) / (tolerance * size), initial=0))


def sampled(values: np.ndarray, truth: object, rounding: float = 1e-6) -> float:
    """Means over the first axis against the truth, in units of six standard errors and float32's rounding."""
    values = np.asarray(values, float)
    error = values.std(0, ddof=1) / math.sqrt(len(values))
    slack = rounding * (1 + np.abs(values).mean(0))
    return float(np.max(np.abs(values.mean(0) - truth) / (SIGMAS * error + slack)))


def chosen(rows: list[Row], share: float, only: str = "") -> Iterator[tuple[Row, list[Case]]]:
    """Every so many-th case of all rows together, with the row it belongs to."""
    every, place = max(round(1 / share), 1), max(round(1 / share), 1) // 2
    for row in rows:
        if not row.name.startswith(only):
            continue
        cases = row.cases()
        picked, place = cases[place::every], (place - len(cases)) % every
        if picked:
            yield row, picked


def run(row: Row, cases: list[Case]) -> tuple[str, list[str]]:
    """A line on a row, and one on each case that missed."""
    began, worst, where, missed = time.process_time(), -1.0, "", []
    for case in cases:
        try:
            error, why = float(case.error()), ""
        except Exception as problem:
            error, why = math.nan, f" {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"
        if not error <= 1:
            missed.append(f"  MISS {row.name}: {case.what}: {error:.3g} of its tolerance{why}")
        if not error <= worst:
            worst, where = error, case.what
    spent = time.process_time() - began
    return f"{row.name:24} {len(cases):5d} cases {spent:6.1f} s, worst {worst:8.2g} of its tolerance ({where})", missed
