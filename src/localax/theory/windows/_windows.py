"""``Windows``: what a ReLU neuron sees of one class, by windows of pixels treated exactly and the rest as Gaussian."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from ..._errors import setting_error
from ..._types import Float
from ...spec import finite_array
from ...stimuli import AbstractStimulus, Task, checked_stimulus
from .._checks import checked_fields
from .._float64 import in_float64
from .._products import DENSE, AbstractProducts, FourierProducts, MatrixProducts
from ._choice import Choice, best_windows, chosen_windows
from ._closure import Term, WindowSum
from ._forms import Form, far_pairs, forms
from ._model import AbstractGateModel
from ._tables import Table, Tables, tables_of

CELLS = 4096
"""The most cells that a window may have."""
LEAST = 1e-9
"""Columns of a table below this are left out."""
RARE = 1e-14
"""Cells that are less likely than this are left out."""
NUMBERS = 2**27
"""The most numbers in the tables of data that are not the same everywhere: 1 GB."""


class Windows(AbstractGateModel):
    """Tables of windows of one **stimulus**, made once: f(w), E ReLU<w,X> and E ReLU^2 follow for every w.

    **levels**: levels a pixel for windows of 1, 2, 3, ... pixels: (32, 16) are pixels in 32 levels and pairs in 16,
    (2, 2, 2, 2) the signs of four pixels, () no window at all, the linear amplifier. On a torus the second entry is
    that of squares of 2 x 2 pixels. **stride**: the distance of the pixels of a window; or several, whose sums are
    mixed with **shares** that sum to 1 (default: equal ones). **far_pairs**: all pairs that no window holds as well, in
    at most four levels; for rings, one stride and short lengthscales. Gaussian and elliptical laws need no windows and
    get none. **tables**: of this stimulus, if some were made before.
    """

    stimulus: AbstractStimulus
    levels: tuple[int, ...] = eqx.field(static=True)
    stride: int | tuple[int, ...] = eqx.field(static=True)
    far_pairs: bool = eqx.field(static=True)
    shares: tuple[float, ...] = eqx.field(static=True)
    closure: WindowSum

    @in_float64
    def __init__(
        self,
        stimulus: AbstractStimulus,
        levels: Sequence[int] = (32, 16),
        stride: int | Sequence[int] = 1,
        far_pairs: bool = False,
        *,
        shares: Sequence[float] | None = None,
        tables: Tables | None = None,
    ):
        self.stimulus = checked_stimulus(Windows, stimulus)
        strides, self.shares = _checked_strides(stride, shares)
        self.stride = strides[0] if len(strides) == 1 else strides
        self.levels = _checked_levels(stimulus, levels, max(strides))
        self.far_pairs = bool(far_pairs)
        ring = stimulus.shift_invariant and len(stimulus.shape) == 1
        if self.far_pairs and (not ring or not self.levels or strides != (1,)):
            raise setting_error(Windows, "far_pairs", far_pairs, "False where there is no ring, no window or a stride")
        mixed = dict(zip(strides, self.shares, strict=True))
        self.closure = _window_sum(stimulus, tables or tables_of(stimulus), self.levels, mixed, self.far_pairs)

    @property
    def cells(self) -> int:
        """Cells of all windows at one place, which is what a right-hand side costs."""
        terms = self.closure.terms[:-1]
        return sum(int(np.prod(t.chance.shape)) if t.back is not None else t.chance.shape[1] for t in terms)

    def described(self) -> dict[str, Any]:
        stride = list(self.stride) if isinstance(self.stride, tuple) else self.stride
        mixed = {"stride": stride, "shares": list(self.shares)}
        return {"kind": "Windows", "levels": list(self.levels), **mixed, "far_pairs": self.far_pairs}

    @classmethod
    @in_float64
    def choose(cls, task: Task, *, w0: Any = None, samples: int = 2**16) -> Choice:
        """The windows for each class of a **task** whose f is nearest to the truth along a pilot flow.

        **w0**: starts of the pilot, of which three are taken; by default random ones. **samples**: how many the truth
        is measured with where it is not exact. Warns where nothing comes within 2%.
        """
        return chosen_windows(cls, task, w0, samples)

    @classmethod
    @in_float64
    def best(
        cls, stimulus: AbstractStimulus, w: Any, *, samples: int = 2**16
    ) -> tuple["Windows", Float[np.ndarray, "..."]]:
        """The windows whose f is best at given fields **w** (..., *pixels), and its relative error at each of them.

        **stimulus**: the law. **samples**: as in :meth:`choose`.
        """
        fields = checked_fields("Windows.best", w, stimulus.shape)
        found = best_windows(cls, stimulus, fields.reshape(-1, math.prod(stimulus.shape)), samples, 1)
        return found.model, found.errors.reshape(fields.shape[: fields.ndim - len(stimulus.shape)])


def _checked_strides(stride: Any, shares: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    expected = "a whole number >= 1, or several that differ"
    strides = tuple(
        _whole("stride", s, 1, expected) for s in (stride if isinstance(stride, list | tuple) else [stride])
    )
    if not strides or len(set(strides)) < len(strides):
        raise setting_error(Windows, "stride", stride, expected)
    if shares is None:
        return strides, (1 / len(strides),) * len(strides)
    expected = "finite numbers that sum to 1, one for each stride"
    array = finite_array(Windows, "shares", shares, expected)
    if array.shape != (len(strides),) or abs(array.sum() - 1) > 1e-9:
        raise setting_error(Windows, "shares", shares, expected)
    return strides, tuple(float(share) for share in array)


def _checked_levels(stimulus: AbstractStimulus, levels: Any, stride: int) -> tuple[int, ...]:
    expected = "whole numbers from 2 on that do not grow, one for each size of window, such as (32, 16)"
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise setting_error(Windows, "levels", levels, expected)
    found = tuple(_whole("levels", level, 2, expected) for level in levels)
    if any(a < b for a, b in itertools.pairwise(found)):
        raise setting_error(Windows, "levels", levels, expected)
    torus = len(stimulus.shape) > 1
    if torus and len(found) > 2:
        raise setting_error(Windows, "levels", levels, "at most two on a torus: for pixels and for squares of 2 x 2")
    reach = 2 * stride if torus and len(found) == 2 else len(found) * stride
    if found and reach > min(stimulus.shape):
        raise setting_error(
            Windows, "levels and stride", (found, stride), f"of windows that fit {min(stimulus.shape)} pixels"
        )
    few = stimulus.marginal.atoms() if stimulus.ising_coupling() is None else (np.zeros(2), None)
    values = len(few[0]) if few is not None else max(found, default=2)
    largest = max((min(n, values) ** (4 if torus and m == 2 else m) for m, n in enumerate(found, 1)), default=1)
    if largest > CELLS:
        raise setting_error(Windows, "levels", levels, f"of windows of at most {CELLS} cells, not {largest}")
    return found


def _whole(name: str, value: Any, least: int, expected: str | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise setting_error(Windows, name, value, expected or f"a whole number >= {least}")
    return int(value)


# From tables to terms -------------------------------------------------------------------------------------------------


def _window_sum(
    stimulus: AbstractStimulus, tables: Tables, levels: tuple[int, ...], shares: dict[int, float], far: bool
) -> WindowSum:
    single, factor = tables.stimulus, stimulus.multiple_of()[1]
    constant = single.elliptical_constant()
    if constant is not None:
        factor = factor * constant * math.sqrt(math.pi / 2)
    if constant is not None or single.is_gaussian:
        levels = ()
    terms = [_term(tables, form) for form in forms(single.shape, levels, shares, periodic=single.shift_invariant)]
    if far and levels:
        terms += _far_terms(tables, len(levels), min(4, levels[-1]))
    return _together(single, terms, abs(factor))


def whole_ring(stimulus: AbstractStimulus, levels: int) -> WindowSum:
    """One window that is the whole ring of a ``stimulus``, counted once.

    Exact, where ``levels`` are as many as a pixel has values.
    """
    size = math.prod(stimulus.shape)
    form = Form(tuple(range(size)), levels, np.arange(size), np.full(size, 1 / size))
    return _together(stimulus, [_term(Tables(stimulus), form)], 1.0)


def _together(stimulus: AbstractStimulus, terms: list[Term], factor: float) -> WindowSum:
    every = (*terms, _no_window(stimulus, terms))
    return WindowSum(every, second_moments(stimulus), np.asarray(factor), stimulus.sign_symmetric)


def _term(tables: Tables, form: Form) -> Term:
    alike, shape = tables.stimulus.shift_invariant, tables.stimulus.shape
    found = tables.at(form.offsets, form.levels, form.starts.tolist())
    if alike:
        likely = found.chance[0] > RARE
        return _moved(Table(found.chance[:, likely], found.means[:, likely]), form.count[:1], shape)
    if found.means.size > NUMBERS:
        raise setting_error(Windows, "levels", form.levels, f"fewer, for tables of at most {NUMBERS:,} numbers")
    return _fixed(found.chance, found.means, form.count)


def _moved(found: Table, count: np.ndarray, shape: tuple[int, ...]) -> Term:
    """The windows of one or several forms, at every place of a ring or torus."""
    size = math.prod(shape)
    column = np.flatnonzero(np.max(np.abs(found.means), axis=(0, 1)) > LEAST)
    sides = np.array(shape)[:, None, None]
    offset = np.array(np.unravel_index(column, shape))[:, :, None]
    place = np.array(np.unravel_index(np.arange(size), shape))[:, None, :]
    both = (place + offset, place - offset)
    there, back = (np.asarray(np.ravel_multi_index(tuple(at % sides), shape)) for at in both)
    return Term(count, found.chance, found.means[:, :, column], there, back)


def _fixed(chance: np.ndarray, means: np.ndarray, count: np.ndarray) -> Term:
    """Windows that have a table each."""
    return Term(count, chance, means, np.arange(means.shape[-1])[:, None], None)


def _far_terms(tables: Tables, nearest: int, levels: int) -> list[Term]:
    shape = tables.stimulus.shape
    pairs, count, single = far_pairs(shape[0], nearest)
    if not pairs:
        return []
    found = [tables.at(pair, levels, [0]) for pair in pairs]
    together = Table(np.concatenate([f.chance for f in found]), np.concatenate([f.means for f in found]))
    return [_moved(together, count, shape), _moved(tables.at((0,), levels, [0]), np.array([single]), shape)]


def _no_window(stimulus: AbstractStimulus, terms: list[Term]) -> Term:
    """What is left to one cell that is everything, so that all counting numbers sum to 1."""
    mean = np.zeros(math.prod(stimulus.shape)) if stimulus.sign_symmetric else stimulus.mean().ravel()
    taken = sum(float(np.sum(term.count)) * term.there.shape[1] for term in terms)
    return _fixed(np.ones((1, 1)), np.asarray(mean, float)[None, None], np.array([1 - taken]))


def second_moments(stimulus: AbstractStimulus) -> AbstractProducts:
    """The products with E[X X'] of a ``stimulus``."""
    mean = np.zeros(stimulus.shape) if stimulus.sign_symmetric else np.asarray(stimulus.mean(), float)
    if mean.size <= DENSE or not stimulus.shift_invariant:
        return MatrixProducts((stimulus.covariance_matrix() + np.outer(mean, mean))[None])
    row = stimulus.covariance() + mean.flat[0] ** 2
    return FourierProducts(np.fft.rfftn(row).real[None], stimulus.shape)
