"""Figures as data: panels hold the arrays of a picture and say how they are to be read; the report draws them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._errors import SettingError


@dataclass(frozen=True)
class Lines:
    """Curves over a common ``x``, and points that were measured, in the colour of the curve of the same name.

    ``title``: of the panel. ``curves``, ``points``: values at every ``x``, by name. ``xlabel``, ``ylabel``: of the
    axes. ``logx``, ``logy``: which axes are logarithmic. ``marks``: vertical lines by name, such as a predicted
    threshold. ``kinds`` say what a curve and what a point stands for, such as exact and sampled.
    """

    title: str
    x: np.ndarray
    curves: dict[str, np.ndarray]
    points: dict[str, np.ndarray] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False
    logy: bool = False
    marks: dict[str, float] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _agree(self, {np.size(y) for y in (self.x, *self.curves.values(), *self.points.values())})


@dataclass(frozen=True)
class Fields:
    """Receptive fields or samples side by side.

    ``title``: of the panel. ``values``: (field, pixel), drawn as curves, or (field, row, column), as images.
    ``labels``: what each field is called; empty: nothing.
    """

    title: str
    values: np.ndarray
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _agree(self, {len(self.values), len(self.labels or self.values)}, np.ndim(self.values) in (2, 3))


@dataclass(frozen=True)
class Heatmap:
    """One number at every point of a grid.

    ``title``: of the panel. ``values``: (row, column). ``xlabel``, ``ylabel``: of the axes, along columns and rows.
    ``extent``: the axes' ends (left, right, bottom, top); None counts columns and rows.
    """

    title: str
    values: np.ndarray
    xlabel: str = ""
    ylabel: str = ""
    extent: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        _agree(self, {2, np.ndim(self.values)})


@dataclass(frozen=True)
class Diagram:
    """A phase diagram: one number over two settings, and boundaries in it.

    ``title``: of the panel. ``x``, ``y``: the settings, increasing. ``values``: (y, x). ``curves``: boundaries by name,
    each (x, y). ``xlabel``, ``ylabel``, ``color``: what the axes and the colour are. ``logx``, ``logy``: which axes are
    logarithmic.
    """

    title: str
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    color: str = ""
    logx: bool = False
    logy: bool = False

    def __post_init__(self) -> None:
        shapes = {np.shape(self.values), np.shape(self.y) + np.shape(self.x)}
        _agree(self, shapes, np.ndim(self.x) == np.ndim(self.y) == 1)
        for x, y in self.curves.values():
            _agree(self, {np.size(x), np.size(y)})


@dataclass(frozen=True)
class Histogram:
    """Measured density in bins, with the exact one where it is known.

    ``title``: of the panel. ``edges``: of the bins, one more than they are. ``density``: in every bin. ``exact``: the
    density that theory gives, in every bin. ``xlabel``: of the axis.
    """

    title: str
    edges: np.ndarray
    density: np.ndarray
    exact: np.ndarray | None = None
    xlabel: str = ""

    def __post_init__(self) -> None:
        exact = self.density if self.exact is None else self.exact
        sizes = {np.size(self.edges) - 1, np.size(self.density), np.size(exact)}
        _agree(self, sizes, np.ndim(self.edges) == 1)


Points = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Where the points of a group lie, x and y, and the errors of y."""


@dataclass(frozen=True)
class Scatter:
    """Points in groups, with vertical errors where they are known.

    ``title``: of the panel. ``groups``: by name, (x, y, errors of y or None). ``joined``: whether a line goes through
    each group. ``xlabel``, ``ylabel``, ``logx``, ``logy``, ``marks``: as in ``Lines``.
    """

    title: str
    groups: Mapping[str, Points]
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False
    logy: bool = False
    joined: bool = False
    marks: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for x, y, error in self.groups.values():
            shape = np.shape(y) if error is None else np.broadcast_shapes(np.shape(error), np.shape(y))
            _agree(self, {np.size(x), np.size(y)}, shape == np.shape(y))


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers: a ``title``, the names of the ``columns``, and ``rows`` of as many entries."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def _agree(panel: Any, sizes: set[Any], fine: bool = True) -> None:
    """Refuse a panel whose arrays do not belong together: nobody could draw it."""
    if len(sizes) > 1 or not fine:
        said = " and ".join(sorted(map(str, sizes)))
        raise SettingError(f"{type(panel).__name__} {panel.title!r}: its arrays must be of one size, got {said}")


Panel = Lines | Fields | Heatmap | Diagram | Histogram | Scatter | Table


@dataclass(frozen=True)
class Figure:
    """Panels in ``rows`` under one ``title``.

    ``labels``: what each row is called; empty: nothing. ``caption``: a sentence below. ``headline``, one sentence, puts
    the figure on the first screen of a report, at its ``place`` among the others.
    """

    title: str
    rows: tuple[tuple[Panel, ...], ...]
    labels: tuple[str, ...] = ()
    caption: str = ""
    headline: str = ""
    place: int = 0

    def __repr__(self) -> str:
        kinds = "; ".join(", ".join(type(panel).__name__ for panel in row) for row in self.rows)
        return f"Figure({self.title!r}: {kinds})"
