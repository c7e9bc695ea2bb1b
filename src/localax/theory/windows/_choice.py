"""Which windows to take: those whose f is nearest to the truth along a pilot flow, of candidates that the law suggests.

The pilot follows a small sample with all its symmetries from a few starts, so that its fields are those that matter:
random, spread, localizing, localized. On them every candidate's f is compared with the exact one, or with that of a
large sample. Candidates differ in what a window resolves. Few values or steep maps want many contiguous pixels in few
levels; smooth laws want fine levels, on pixels about as far apart as the field is smooth, because the exact values of
near neighbours tell the same thing twice. Too near they count too much and too far too little, with errors of opposite
sign, so that several strides mixed with fitted shares are better than any one of them. And where pixels are nearly
independent, far pairs add what windows miss.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._types import Float
from ...stimuli import AbstractStimulus, Task
from .._checks import checked_start
from ._closure import gated_inputs
from ._model import AbstractGateModel
from ._orbits import Orbits
from ._reference import reference
from ._tables import Tables, tables_of

Make = Callable[..., Any]
"""The class ``Windows``, which rests on this file."""
GOOD = 0.02
"""An error of f up to which windows are called good."""
CLOSE = 1.1
"""Of candidates whose errors differ by less than this factor the one of fewer cells is taken."""
PILOT, STARTS = 2048, 3
TIMES = (0.0, 1.0, 3.0, 8.0, 20.0, 100.0)
"""When the pilot's fields are looked at."""
LARGEST = 512
"""Cells of a window that a candidate may have."""
SAMPLES = 100
"""How many samples a cell should have on average, where tables are made from data."""
SHORT = 0.5
"""A correlation of neighbours below which pixels count as nearly independent."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Windows that were tried.

    ``levels``, ``stride``, ``far_pairs``, ``shares``: as arguments of ``Windows``. ``cells``: how many they have.
    ``error``: of f, at the worst time of the pilot.
    """

    levels: tuple[int, ...]
    stride: int | tuple[int, ...]
    far_pairs: bool
    shares: tuple[float, ...]
    cells: int
    error: float


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen for each class, and how good it is.

    ``models``: a ``Windows`` for each class, None where a class needs none (label 0 on sign-symmetric data); an
    ``Orbits`` where no windows are good and the sample itself was allowed. ``errors``: of f, relative to its length,
    at the worst time of the pilot; NaN where there is no model. ``along``: the root mean square over the starts at each
    of ``times``, (class, time). ``candidates``: everything tried, class by class. ``noise``: the standard
    error of what f was measured against, 0 where it is exact.
    """

    models: tuple[AbstractGateModel | None, ...]
    errors: np.ndarray
    along: np.ndarray
    times: np.ndarray
    noise: np.ndarray
    candidates: tuple[tuple[Candidate, ...], ...]

    @property
    def good(self) -> bool:
        """Whether every class is within 2%."""
        return bool(np.all(np.nan_to_num(self.errors) <= GOOD))

    def summary(self) -> list[dict[str, Any]]:
        """The chosen models and their errors as plain data, one entry a class."""
        return [
            {"model": None if model is None else model.described(), "error": None if model is None else float(error)}
            for model, error in zip(self.models, self.errors, strict=True)
        ]


def chosen_windows(make: Make, task: Task, w0: Any, samples: int) -> Choice:
    """What ``Windows.choose`` gives; ``make`` is that class."""
    if not isinstance(task, Task) or task.labels is None:
        raise setting_error("Windows.choose", "task", task, "a Task with one label per class")
    fields = _pilot(task, _starts(task, w0))
    flat = fields.reshape(-1, fields.shape[-1])
    needed = [not task.sign_symmetric or label != 0 for label in np.asarray(task.labels)]
    found = [
        best_windows(make, s, flat, samples, len(TIMES)) if need else None
        for s, need in zip(task.stimuli, needed, strict=True)
    ]
    along = [np.full(len(TIMES), np.nan) if f is None else _rms(f.errors.reshape(fields.shape[:2]), 1) for f in found]
    choice = Choice(
        models=tuple(None if f is None else f.model for f in found),
        errors=np.array([np.nan if f is None else _worst(f.errors, len(TIMES)) for f in found]),
        along=np.stack(along),
        times=np.array(TIMES),
        noise=np.array([np.nan if f is None else f.noise for f in found]),
        candidates=tuple(() if f is None else f.candidates for f in found),
    )
    if not choice.good:
        worst = 100 * float(np.nanmax(choice.errors))
        text = f"windows: no windows come within {100 * GOOD:g}% of f (the best is {worst:.1f}% off)"
        warnings.warn(f"{text}; order=Orbits(stimulus) follows a sample instead", UserWarning, stacklevel=3)
    return choice


def _worst(errors: Float[np.ndarray, " fields"], stages: int) -> float:
    """The largest over stages of the root mean square over their fields: a flow is as good as its worst stage."""
    return float(np.max(_rms(errors.reshape(stages, -1), 1)))


def _rms(errors: np.ndarray, axis: int | None = None) -> Any:
    return np.sqrt(np.mean(errors**2, axis=axis))


@dataclass(frozen=True, eq=False)
class Found:
    """The best of all candidates for one class."""

    model: Any
    errors: np.ndarray
    noise: float
    candidates: tuple[Candidate, ...]


def best_windows(
    make: Make, stimulus: AbstractStimulus, fields: Float[np.ndarray, "fields n"], samples: int, stages: int
) -> Found:
    """Every candidate of one class measured, and the one of fewest cells among those that are about the best."""
    truth, tables = reference(stimulus, samples), tables_of(stimulus)
    parts = truth.parts(fields)
    tried: list[tuple[Candidate, Any, np.ndarray]] = []
    for settings in candidates(stimulus):
        windows = _fitted(make, stimulus, settings, tables, fields, parts.mean(0))
        errors = truth.error(parts, gated_inputs(windows.closure, fields)).value
        about = Candidate(**settings, shares=windows.shares, cells=windows.cells, error=_worst(errors, stages))
        tried.append((about, windows, errors))
    least = min(candidate.error for candidate, _, _ in tried)
    close = [one for one in tried if one[0].error <= CLOSE * least + 1e-6]
    _, model, errors = min(close, key=lambda one: one[0].cells)
    noise = truth.error(parts, parts.mean(0)).standard_error
    return Found(model, errors, float(_rms(noise)), tuple(candidate for candidate, _, _ in tried))


def _fitted(
    make: Make, stimulus: AbstractStimulus, settings: dict[str, Any], tables: Tables, fields: Any, truth: Any
) -> Any:
    """Windows as asked for; of several strides, mixed with the shares that bring f nearest to the truth."""
    strides = settings["stride"]
    if not isinstance(strides, tuple):
        return make(stimulus, **settings, tables=tables)
    alone = [make(stimulus, **{**settings, "stride": stride}, tables=tables) for stride in strides]
    length = np.linalg.norm(truth, axis=1, keepdims=True)
    first, *others = (gated_inputs(windows.closure, fields) / length for windows in alone)
    slopes = np.stack([(other - first).ravel() for other in others], axis=1)
    rest = np.linalg.lstsq(slopes, (truth / length - first).ravel(), rcond=1e-6)[0]
    return make(stimulus, **settings, shares=(1 - float(rest.sum()), *rest.tolist()), tables=tables)


def candidates(stimulus: AbstractStimulus) -> Iterator[dict[str, Any]]:
    """Arguments of ``Windows`` that a law's values, steepness and lengthscale suggest."""
    plain = {"stride": 1, "far_pairs": False}
    yield {"levels": (), **plain}
    single = stimulus.multiple_of()[0]
    if single.elliptical_constant() is not None or single.is_gaussian:
        return
    atoms = 2 if single.ising_coupling() is not None else _values(single)
    if len(single.shape) > 1:
        yield from ({"levels": levels, **plain} for levels in ((min(32, atoms),), (2, 2), (min(32, atoms), 2)))
        return
    ring = min(single.shape)
    longest = min(ring // 2, 6)
    for pixels in range(1, longest + 1):
        few = min(atoms, 2 if atoms > 4 else atoms)
        if few**pixels <= LARGEST:
            yield {"levels": (few,) * pixels, **plain}
    near = _neighbours(single)
    if atoms > 4:
        most = _cells_for(single)
        fine = tuple(min(n, atoms, max(int(most ** (1 / m) + 1e-9), 2)) for m, n in enumerate((32, 16, 8), start=1))
        for stride in sorted({1, *(max(round(near * part), 1) for part in (0.5, 1.0, 1.5))}):
            for levels in (fine[:1], fine[:2], fine) if stride == 1 else (fine[:2], fine):
                if stride * len(levels) <= ring:
                    yield {"levels": levels, "stride": stride, "far_pairs": False}
        middle = max(round(near), 1)
        several = tuple(sorted({max(middle - 1, 1), middle, middle + 1}))
        for levels in (fine[:2], fine):
            if several[-1] * len(levels) <= ring:
                yield {"levels": levels, "stride": several, "far_pairs": False}
    if single.shift_invariant and _correlation(single)[1] < SHORT:
        yield {"levels": (2, 2), "stride": 1, "far_pairs": True}


def _values(stimulus: AbstractStimulus) -> int:
    """How many values a pixel has; many where it has no atoms."""
    atoms = stimulus.marginal.atoms()
    return 10**9 if atoms is None else len(np.unique(atoms[0]))


def _cells_for(stimulus: AbstractStimulus) -> int:
    """How many cells a window may have so that a hundred samples fall into each, where there are samples only."""
    data = stimulus.dataset()
    return LARGEST if data is None else max(len(data) // SAMPLES, 2)


def _correlation(stimulus: AbstractStimulus) -> np.ndarray:
    """The correlation at each distance, over all places."""
    if stimulus.shift_invariant:
        row = np.asarray(stimulus.covariance(), float)
        return row / row[0]
    matrix = stimulus.covariance_matrix()
    spread = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    unit = matrix / np.outer(spread, spread)
    return np.array([np.mean(np.diag(unit, d)) for d in range(len(unit))])


def _neighbours(stimulus: AbstractStimulus) -> float:
    """The distance at which the correlation falls below 1/e."""
    row = np.abs(_correlation(stimulus))
    below = np.flatnonzero(row < math.exp(-1))
    if not len(below):
        return len(row) / 4
    d = int(below[0])
    return d - 1 + (row[d - 1] - math.exp(-1)) / (row[d - 1] - row[d])


# The pilot ------------------------------------------------------------------------------------------------------------


def _starts(task: Task, w0: Any) -> Float[np.ndarray, "starts n"]:
    size = math.prod(task.shape)
    if w0 is None:
        return np.random.default_rng(0).normal(size=(STARTS, size)) * 0.04 / math.sqrt(size)
    return checked_start("Windows.choose", w0, task.shape).reshape(-1, size)[:STARTS]


def _pilot(task: Task, starts: Float[np.ndarray, "starts n"]) -> Float[np.ndarray, "time starts n"]:
    """Fields at ``TIMES`` of the flow on a sample, by an exponential integrator whose steps grow."""
    shares, labels = np.asarray(task.proportions), np.asarray(task.labels, float)
    second = sum(
        p * (s.covariance_matrix() + np.outer(s.mean(), s.mean())) for p, s in zip(shares, task.stimuli, strict=True)
    )
    values, vectors = np.linalg.eigh(second)
    seen_by = [(p, y, Orbits(s, PILOT).closure) for p, y, s in zip(shares, labels, task.stimuli, strict=True)]

    def push(w: np.ndarray) -> np.ndarray:
        """Everything of dw/dt but the linear decay, which is all of it that a symmetric class of label 0 adds."""
        if task.sign_symmetric:
            return sum((2 * p * y * mean.gradients(w)[0] for p, y, mean in seen_by if y), start=np.zeros_like(w))
        both = [(p, y, *mean.gradients(w)) for p, y, mean in seen_by]
        return second @ w + sum(2 * p * (y * first - square) for p, y, first, square in both)

    fields, seen, time = starts, [starts], 0.0
    for end in TIMES[1:]:
        while time < end - 1e-9:
            step = min(0.05 + 0.15 * time, end - time, 8.0)
            decay = np.exp(-np.maximum(values, 1e-12) * step)
            pushed = np.stack([push(w) for w in fields]) @ vectors
            fields = (decay * (fields @ vectors) + (1 - decay) / np.maximum(values, 1e-12) * pushed) @ vectors.T
            time += step
        seen.append(fields)
    return np.stack(seen)
