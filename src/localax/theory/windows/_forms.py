"""Which windows there are, and how often each counts, so that no pixel and no overlap counts twice.

Along a line, windows of m pixels j, j + s, ..., j + (m-1) s less their overlaps of m - 1 pixels; for each of the s
lines that a stride makes, which all see the whole field, 1/s. On a torus, squares less the edges they share plus the
pixels that these share. Finer levels serve shorter windows: K_1(L_1) + [K_2(L_2) - K_1(L_2)] + [K_3(L_3) - K_2(L_3)] +
...
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

Key = tuple[tuple[int, ...], int]


@dataclass(frozen=True, eq=False)
class Form:
    """Windows of pixels ``offsets`` with so many ``levels`` a pixel; ``count`` is how often each of ``starts`` counts.

    ``starts``: pixels, counted row by row. On a ring or torus all are alike.
    """

    offsets: tuple[int, ...]
    levels: int
    starts: np.ndarray
    count: np.ndarray


def forms(shape: tuple[int, ...], levels: tuple[int, ...], shares: dict[int, float], *, periodic: bool) -> list[Form]:
    """All windows that ``levels`` ask for, equal ones as one, each place's counting number with it.

    ``shares``: how much windows of each stride count, 1 in all.
    """
    counts: dict[Key, np.ndarray] = defaultdict(lambda: np.zeros(shape))
    family = _lines if len(shape) == 1 else _squares
    for stride, share in shares.items():
        for size, fine in enumerate(levels, start=1):
            for part, sign in ((size, 1), (size - 1, -1)) if size > 1 else ((1, 1),):
                for offsets, count in family(shape, part, stride, periodic):
                    counts[offsets, fine] += sign * share * count
    found = [Form(*key, np.flatnonzero(count), count.ravel()[np.flatnonzero(count)]) for key, count in counts.items()]
    return [form for form in found if len(form.starts)]


def _lines(
    shape: tuple[int, ...], size: int, stride: int, periodic: bool
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """K_m: windows of ``size`` pixels, and their overlaps."""
    places = np.arange(shape[0])
    last = shape[0] - (size - 1) * stride
    yield tuple(range(0, size * stride, stride)), ((places < last) | periodic) / stride
    if size > 1:
        inside = (places >= stride) & (places < last)
        yield tuple(range(0, (size - 1) * stride, stride)), -1.0 * (inside | periodic) / stride


def _squares(
    shape: tuple[int, ...], size: int, stride: int, periodic: bool
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Pixels (``size`` 1), and squares of 2 x 2 with the edges and pixels that several of them share."""
    row, column = np.indices(shape)
    if size == 1:
        yield (0,), np.ones(shape) / stride**2
        return
    down, right = (step < side - stride for step, side in zip((row, column), shape, strict=True))
    inner_row, inner_column = (row >= stride) & down, (column >= stride) & right
    share = 1 / stride**2
    across, below = stride, stride * shape[1]
    yield (0, across, below, below + across), share * ((down & right) | periodic)
    yield (0, across), -share * ((inner_row & right) | periodic)
    yield (0, below), -share * ((down & inner_column) | periodic)
    yield (0,), share * ((inner_row & inner_column) | periodic)


def far_pairs(size: int, nearest: int) -> tuple[list[tuple[int, int]], np.ndarray, float]:
    """Pairs of pixels of a ring at distances of at least ``nearest``, how often each counts, and how often a pixel."""
    distances = np.arange(nearest, size // 2 + 1)
    count = np.where(2 * distances == size, 0.5, 1.0)
    return [(0, int(d)) for d in distances], count, -2.0 * float(np.sum(count))
